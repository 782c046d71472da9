import type { EntryLine } from '../../../core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../../../core/accounting/fund.ts';
import { isCost } from '../../../core/accounting/held-sum.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { isPlausible } from '../../../core/usage.ts';
import type { EnforcedBudget, LedgerOp, OpResult } from '../../books.ts';
import { StoreError, type Write } from '../../store.ts';
import type { FundAnswer } from './known-funds.ts';
import type { Names } from './names.ts';

/** An operation that draws on money, as the function of the database takes it: see `decide.sql`. */
export interface DrawingWireOp {
  readonly kind: 'hold' | 'earmark' | 'extend' | 'post' | 'settle';
  readonly hold: number;
  readonly at: number;
  readonly account?: number | undefined;
  readonly funds?: readonly number[];
  readonly amounts?: readonly Microcredits[];
  readonly least?: Microcredits | undefined;
  readonly ample?: Microcredits | undefined;
  readonly expected?: Microcredits;
  readonly expires?: number | null;
  readonly step?: number;
  /** Null for an impossible one. */
  readonly cost?: Microcredits | null;
  readonly most?: Microcredits;
  readonly tariff?: number | undefined;
  readonly usage?: readonly number[];
  readonly estimated?: boolean;
  readonly note?: string | null;
}

/** Another operation. */
interface OtherWireOp extends Readonly<Record<string, unknown>> {
  readonly kind: Exclude<LedgerOp['kind'], DrawingWireOp['kind']> | 'write';
  readonly hold?: number;
  readonly at?: number;
  readonly funds?: readonly number[];
}

export type WireOp = DrawingWireOp | OtherWireOp;

/** An answer of the function. */
export type WireAnswer =
  | readonly ['granted', Microcredits]
  | readonly ['charged', Microcredits, Microcredits]
  | readonly [
      'exhausted' | 'contended',
      ...([id: number, most: Microcredits, spent: Microcredits, held: Microcredits] | []),
    ]
  | readonly ['unmet']
  | readonly ['mistake', string];

/** The operations of a call, each as the function takes it, and what rides with them. */
export interface CalledOps {
  readonly ops: readonly (readonly WireOp[])[];
  readonly also: readonly Write[];
}

/** The answer to a group of calls. */
export interface WireResult {
  /** Of each call, those of its operations. */
  readonly answers: readonly (readonly WireAnswer[])[];
  readonly figures: readonly FundAnswer[];
  /** Of the holds that the operations are on, those that are open, with what they may still charge. */
  readonly openHolds: readonly (readonly [id: number, left: Microcredits])[];
}

/** An operation of the books, with what the caller looked up for it. */
export interface AskedOp {
  readonly op: LedgerOp;
  /** Of a correction: the funds that what it gives back counts in. */
  readonly funds?: readonly FundRef[];
  /** Of a sum of money: the balance that it comes to. */
  readonly balance?: FundRef;
  /** That of an operation which has no ID, and must not be done twice. */
  readonly name?: string;
}

/** The funds that an operation names. */
export function fundsOf({ op, funds, balance }: AskedOp): readonly FundRef[] {
  if (funds) return funds;
  if (balance) return [balance];
  if (op.kind === 'count' || op.kind === 'join') return op.sums.map(({ fund }) => fund);
  return 'funds' in op ? op.funds : [];
}

/** Writes operations for the database. All that they name has a number by then. */
export class Wire {
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  encode(asked: AskedOp): readonly WireOp[] {
    const { op, name } = asked;
    const funds = fundsOf(asked).map((ref) => this.#names.funds.find(ref)!);
    switch (op.kind) {
      case 'hold':
      case 'earmark': {
        const { kind, id: hold, at, amounts, least, ample, note, expiresAt, dimensions } = op;
        const account = this.#names.accounts.find(dimensions);
        const expires = Number.isFinite(expiresAt) ? Math.ceil(expiresAt) : null;
        const expected = op.kind === 'earmark' ? op.expected : 0;
        return [{ kind, hold, at: Math.floor(at), account, funds, amounts, least, ample, expected, note, expires }];
      }
      case 'extend':
        return [{ kind: 'extend', hold: op.id, at: op.at, step: op.step, amounts: op.amounts, least: op.least }];
      case 'post':
        return [{ kind: 'post', hold: op.id, at: op.at, step: op.step, most: op.most, ...this.#lineOf(op.entry) }];
      case 'settle':
        return [{ kind: 'settle', hold: op.id, at: op.at, most: op.most, ...(op.entry && this.#lineOf(op.entry)) }];
      case 'expire':
        return [{ kind: 'expire', hold: op.id, at: op.at, rule: op.rule }];
      case 'void':
        return [{ kind: 'void', hold: op.id, at: op.at }];
      case 'release':
        return [{ kind: 'release', hold: op.id }];
      case 'attach':
        return [{ kind: 'attach', hold: op.id, at: op.at, funds }];
      case 'capture':
        return [{ kind: 'capture', hold: op.id, at: op.at, ...op.deposit, account: this.#holderOf(asked), funds }];
      case 'grant': {
        const { id, at, amount, note } = op;
        return [{ kind: 'grant', name: `grant ${id}`, at, amount, note, funds, account: this.#holderOf(asked) }];
      }
      case 'deposit': {
        const { paid, fee, note } = op.deposit;
        // A fee is given back once, by whichever operation.
        const name = `${paid > 0 ? 'deposit' : 'waive'} ${op.id}`;
        const account = this.#holderOf(asked);
        return [{ kind: 'deposit', name, at: op.at, paid, fee, amount: paid - fee, note, funds, account }];
      }
      case 'waive': {
        const { id, at, fee, note } = op;
        const account = this.#holderOf(asked);
        return [{ kind: 'waive', name: `waive ${id}`, at, paid: 0, fee: -fee, amount: fee, note, funds, account }];
      }
      case 'correct':
        return [
          {
            kind: 'correct',
            name: `correct ${op.id}`,
            hold: op.reservation,
            at: op.at,
            amount: op.amount,
            note: op.note,
            funds,
          },
        ];
      case 'count': {
        const { budget, from: source, to: through, sums } = op;
        return [{ kind: 'count', budget, source, through, funds, amounts: sums.map(({ amount }) => amount) }];
      }
      case 'join':
        return [{ kind: 'join', name, at: 0, funds, amounts: op.sums.map(({ amount }) => amount) }];
      case 'enforce':
        return op.budgets.map(enforced);
    }
  }

  #lineOf({ tariff, usage, estimated, cost }: EntryLine) {
    const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, addOns } = usage;
    const isKnown = isPlausible(usage);
    return {
      // An impossible cost is one of all that is left.
      cost: isCost(cost) ? cost : null,
      tariff: this.#names.tariffs.find(tariff),
      usage: isKnown
        ? [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens]
        : [0, 0, 0, 0, 0],
      estimated,
      note: isKnown && addOns ? JSON.stringify(addOns) : null,
    };
  }

  #holderOf({ balance }: AskedOp): number | undefined {
    return balance && this.#names.accounts.find(dimensionsOfHolder(balance.title.name));
  }
}

/** Grants and deposits are entries of their holder alone. */
export function dimensionsOfHolder(holder: string): { readonly key: string; readonly selector: string } {
  return { key: holder, selector: '' };
}

const enforced = ({ budget, rank, limit: most, limits }: EnforcedBudget): WireOp => ({
  ...{ kind: 'enforce', budget, rank, most, limits: limits ? Object.fromEntries(limits) : null },
});

/** @throws RangeError for a mistake of the program, StoreError `unmet` */
export function decode(
  answer: WireAnswer,
  standingOf: (id: number, figures: readonly [Microcredits, Microcredits, Microcredits]) => FundStanding | null,
): OpResult {
  switch (answer[0]) {
    case 'granted':
      return { kind: 'granted', amount: answer[1] };
    case 'charged':
      return { kind: 'charged', charged: answer[1], overrun: answer[2] };
    case 'mistake':
      throw new RangeError(answer[1]);
    case 'unmet':
      throw new StoreError('what the operation is on has ended', { reason: 'unmet' });
    default: {
      const [why, id, most, spent, held] = answer;
      return { kind: 'refused', why, fund: id === undefined ? null : standingOf(id, [most!, spent!, held!]) };
    }
  }
}
