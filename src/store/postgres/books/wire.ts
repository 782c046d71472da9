import { BillWriter } from '../../../core/accounting/bill.ts';
import type { EntryLine, Tariff } from '../../../core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../../../core/accounting/fund.ts';
import { isCost } from '../../../core/accounting/held-sum.ts';
import { readPrice } from '../../../core/accounting/stored-price.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isPlausible, plainUsage } from '../../../core/money/usage.ts';
import type { CountOp, EnforcedBudget, LedgerOp, OpResult } from '../../books.ts';
import { StoreError, type Write } from '../../store.ts';
import type { FundAnswer } from './known-funds.ts';
import type { Names } from './names.ts';

/** An operation that draws money, in the form that the decide function (`decide.sql`) accepts. */
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
  /** The cost in microcredits; null for an impossible cost, such as NaN. */
  readonly cost?: Microcredits | null;
  readonly most?: Microcredits;
  readonly tariff?: number | undefined;
  /** The bill as the journal stores it. */
  readonly bill?: string;
  readonly estimated?: boolean;
  readonly note?: string | null;
}

/** An operation that draws no money, which the decide function accepts as JSON. */
interface OtherWireOp extends Readonly<Record<string, unknown>> {
  readonly kind: Exclude<LedgerOp['kind'], DrawingWireOp['kind']> | 'write';
  readonly hold?: number;
  readonly at?: number;
  readonly funds?: readonly number[];
}

export type WireOp = DrawingWireOp | OtherWireOp;

/** The answer of the decide function to one operation. */
export type WireAnswer =
  | readonly ['granted', Microcredits]
  | readonly ['charged', Microcredits, Microcredits]
  | readonly [
      'exhausted' | 'contended',
      ...([id: number, most: Microcredits, spent: Microcredits, held: Microcredits] | []),
    ]
  | readonly ['unmet']
  | readonly ['mistake', string];

/** The operations of one call, each in the form of the decide function, and the attached writes. */
export interface CalledOps {
  readonly ops: readonly (readonly WireOp[])[];
  readonly also: readonly Write[];
}

/** The answer of the decide function to a group of calls. */
export interface WireResult {
  /** The answers to the operations of each call. */
  readonly answers: readonly (readonly WireAnswer[])[];
  readonly figures: readonly FundAnswer[];
  /** The holds of the operations that are open now, each with the amount that the hold may still be charged, microcredits. */
  readonly openHolds: readonly (readonly [id: number, left: Microcredits])[];
}

/** An operation of the books, with the rows that the caller has looked up for the operation. */
export interface AskedOp {
  readonly op: LedgerOp;
  /** For a refund (`correct`): the funds that the refund is credited to. */
  readonly funds?: readonly FundRef[];
  /** For a grant, a deposit, a capture or a waiver: the balance that the money is added to. */
  readonly balance?: FundRef;
}

const sumsOf = ({ sums, opening }: CountOp): CountOp['sums'] => [...sums, ...(opening?.sums ?? [])];

/** @returns the funds that an operation names */
export function fundsOf({ op, funds, balance }: AskedOp): readonly FundRef[] {
  if (funds) return funds;
  if (balance) return [balance];
  if (op.kind === 'count') return sumsOf(op).map(({ fund }) => fund);
  return 'funds' in op ? op.funds : [];
}

/** The usage that is booked instead of an impossible usage. */
const NO_USAGE = plainUsage(0, 0);

/**
 * Encodes operations for the decide function. All accounts, tariffs and funds that the operations name must already have an ID (see
 * `Names`).
 */
export class Wire {
  readonly #names: Names;
  /** The writers of bills by the identity of tariffs, which are created once. */
  readonly #bills = new WeakMap<Tariff, BillWriter>();

  constructor(names: Names) {
    this.#names = names;
  }

  encode(asked: AskedOp): readonly WireOp[] {
    const { op } = asked;
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
        // A deposit that only refunds a fee shares its name with `waive`, so that the fee of a payment is refunded once by either
        // operation.
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
        const { budget, from, to: through, opening } = op;
        const [source, known] = from ? [from.through, from.subjects] : [null, null];
        const amounts = sumsOf(op).map(({ amount }) => amount);
        const opened = opening && { subjects: opening.subjects, opened: opening.sums.length };
        return [{ kind: 'count', budget, source, known, through, funds, amounts, ...opened }];
      }
      case 'enforce':
        return op.budgets.map(enforced);
    }
  }

  #lineOf({ tariff, usage, estimated, cost, pricedAt, stated }: EntryLine) {
    const compared = stated !== undefined && isCost(cost) ? { stated, cost } : undefined;
    return {
      // A cost of null makes the decide function charge everything that is left of the hold.
      cost: isCost(cost) ? cost : null,
      tariff: this.#names.tariffs.find(tariff),
      bill: this.#billsOf(tariff).text(isPlausible(usage) ? usage : NO_USAGE, pricedAt, compared),
      estimated,
    };
  }

  #billsOf(tariff: Tariff): BillWriter {
    let bills = this.#bills.get(tariff);
    if (!bills) {
      bills = new BillWriter(readPrice(tariff.price));
      this.#bills.set(tariff, bills);
    }
    return bills;
  }

  #holderOf({ balance }: AskedOp): number | undefined {
    return balance && this.#names.accounts.find(dimensionsOfHolder(balance.title.name));
  }
}

/** The entries of grants and deposits name only their holder, and no selector or label. */
export function dimensionsOfHolder(holder: string): { readonly key: string; readonly selector: string } {
  return { key: holder, selector: '' };
}

const enforced = ({ budget, rank, at, limit: most, limits }: EnforcedBudget): WireOp => ({
  kind: 'enforce',
  budget,
  rank,
  at,
  most,
  limits: limits ? Object.fromEntries(limits) : null,
});

/**
 * Turns an answer of the decide function into a result.
 * @throws RangeError for a mistake of the program, StoreError `unmet` if the operation's condition is false
 */
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
      throw new StoreError('the hold or earmark of the operation has already ended', { reason: 'unmet' });
    default: {
      const [why, id, most, spent, held] = answer;
      return { kind: 'refused', why, fund: id === undefined ? null : standingOf(id, [most!, spent!, held!]) };
    }
  }
}
