import fc from 'fast-check';
import type { FundRef, FundStanding } from '../../src/core/accounting/fund.ts';
import type { LedgerOp, OpResult } from '../../src/store/books.ts';
import { balanceOf, entryOf, fundOf, NOON, nextId } from './suites/books.ts';

/** This file makes random operations of books, for laws that compare two implementations. */
const HOLDS = 5;
const amount = fc.integer({ min: 0, max: 120 });
const amounts = fc.array(amount, { minLength: 1, maxLength: 3 });
const who = fc.nat(HOLDS - 1);
/** IDs 0 to 2 are holds, and IDs 3 and 4 are earmarks. */
const held = fc.nat(HOLDS - 3);
const earmarked = fc.integer({ min: HOLDS - 2, max: HOLDS - 1 });
/** A number from 0 to 7: a bit for each of two budgets and a balance that is drawn on. */
const drawn = fc.nat(7);
const cost = fc.oneof({ weight: 5, arbitrary: amount }, fc.constantFrom(-1, 0.5, Number.NaN));
const most = fc.oneof({ weight: 4, arbitrary: fc.constant(Number.MAX_SAFE_INTEGER) }, amount);

/** A position after all entries of a history. */
const FAR = 2 ** 50;
const position = fc.option(fc.record({ through: fc.constantFrom(0, 1, 2, FAR), subjects: fc.nat(1) }));
export const step = fc.oneof(
  fc.record({
    kind: fc.constant('hold' as const),
    who: held,
    drawn,
    amounts,
    least: fc.option(amount),
    ample: fc.option(amount),
  }),
  fc.record({
    kind: fc.constant('earmark' as const),
    who: earmarked,
    drawn,
    amounts,
    expected: amount,
    least: fc.option(amount),
  }),
  fc.record({ kind: fc.constant('capture' as const), who: earmarked, paid: amount, fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('extend' as const), who, step: fc.nat(3), amounts, least: fc.option(amount) }),
  fc.record({ kind: fc.constant('post' as const), who, step: fc.nat(3), cost, most }),
  fc.record({ kind: fc.constant('settle' as const), who, cost: fc.option(cost), most }),
  fc.record({
    kind: fc.constant('expire' as const),
    who,
    rule: fc.constantFrom<('charge' | 'release')[]>('charge', 'release'),
  }),
  fc.record({ kind: fc.constant('void' as const), who }),
  fc.record({ kind: fc.constant('release' as const), who: earmarked }),
  fc.record({ kind: fc.constant('attach' as const), who, drawn }),
  fc.record({ kind: fc.constant('grant' as const), name: fc.nat(3), amount: fc.integer({ min: -60, max: 120 }) }),
  fc.record({ kind: fc.constant('deposit' as const), name: fc.nat(3), paid: amount, fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('waive' as const), name: fc.nat(3), fee: fc.nat(20) }),
  fc.record({ kind: fc.constant('correct' as const), name: fc.nat(3), who, amount }),
  fc.record({
    kind: fc.constant('enforce' as const),
    rank: fc.integer({ min: 2, max: 4 }),
    limit: fc.integer({ min: 0, max: 400 }),
    isOwn: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('count' as const), from: position, to: fc.nat(2), amount }),
  fc.record({ kind: fc.constant('count' as const), from: position, to: fc.constant(FAR), amount, opened: amount }),
);
export type Step = typeof step extends fc.Arbitrary<infer One> ? One & { readonly opened?: number } : never;

const ofOne = { who: 0, drawn: 1, ample: null, most: Number.MAX_SAFE_INTEGER } as const;
/**
 * Histories that random steps seldom produce: released money that another hold has taken, repeated operations, a hold that gets less
 * because of another hold, and a cost that is not known.
 */
export const rare = fc.oneof(
  fc.tuple(amount, amount, amount).map(([own, others, cost]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [own], least: 0 },
    { kind: 'expire', who: 0, rule: 'release' },
    { kind: 'hold', ...ofOne, who: 1, amounts: [others + 60], least: 0 },
    { kind: 'settle', who: 0, cost, most: ofOne.most },
  ]),
  fc.tuple(amount, amount).map(([held, cost]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [held], least: 0 },
    { kind: 'post', who: 0, step: 0, cost, most: ofOne.most },
    { kind: 'post', who: 0, step: 0, cost, most: ofOne.most },
  ]),
  fc.tuple(fc.oneof(fc.constant(0), amount), fc.nat(20)).map(([others, ample]): Step[] => [
    { kind: 'hold', ...ofOne, amounts: [others], least: 0 },
    { kind: 'hold', ...ofOne, who: 1, amounts: [160], least: 0, ample },
  ]),
  amount.map((counted): Step[] => [
    { kind: 'count', from: null, to: 0, amount: counted },
    { kind: 'count', from: null, to: 0, amount: counted },
    { kind: 'hold', ...ofOne, amounts: [90], least: 0, ample: null },
    { kind: 'settle', who: 0, cost: Number.NaN, most: ofOne.most },
  ]),
);
let worlds = 0;

/** The objects of one history: two budgets, one of which applies to a subject, and the balance of a wallet. */
export class Things {
  readonly wallet = `0x${(++worlds).toString(16).padStart(40, '0')}`;
  readonly ids = Array.from({ length: HOLDS }, nextId);
  readonly #captured = new Set<number>();
  readonly #world = nextId();
  readonly funds: readonly FundRef[];

  readonly #expiresAt: number;

  constructor(expiresAt = Number.POSITIVE_INFINITY) {
    this.#expiresAt = expiresAt;
    const [one, other] = [fundOf(150, 'one'), fundOf(90, 'other')];
    this.funds = [one, { ...other, title: { ...other.title, subject: 'own' } }, balanceOf(this.wallet)];
  }

  drawnBy(bits: number): readonly FundRef[] {
    return this.funds.filter((_, at) => (bits >> at) % 2 === 1);
  }

  /** @returns the operation; null for an earmark whose ID is in use because its payment has arrived */
  op(step: Step): LedgerOp | null {
    const at = NOON;
    const dimensions = { key: 'key', selector: 'auto', holder: this.wallet };
    const rest = { at, dimensions, expiresAt: this.#expiresAt, note: null };
    const id = 'who' in step ? this.ids[step.who]! : 0;
    const named = 'name' in step ? `${this.#world}/${step.name}` : '';
    switch (step.kind) {
      case 'hold': {
        const { least, ample } = step;
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = { ...(least !== null && { least: Math.min(least, first) }), ...(ample !== null && { ample }) };
        return { kind: 'hold', id, funds: this.drawnBy(step.drawn), amounts: [first, ...others], ...bounds, ...rest };
      }
      case 'earmark': {
        if (this.#captured.has(id)) return null;
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = step.least === null ? {} : { least: Math.min(step.least, first) };
        const { expected } = step;
        // A payment always goes to a balance, so the balance's bit is set.
        const funds = this.drawnBy(step.drawn | 4);
        return { kind: 'earmark', id, funds, amounts: [first, ...others], expected, ...bounds, ...rest };
      }
      case 'capture':
        this.#captured.add(id);
        return {
          kind: 'capture',
          id,
          at,
          deposit: { paid: step.paid, fee: Math.min(step.paid, step.fee), note: `${id}` },
        };
      case 'extend': {
        const [first, ...others] = step.amounts as [number, ...number[]];
        const bounds = step.least === null ? {} : { least: Math.min(step.least, first) };
        return { kind: 'extend', id, at, step: step.step, amounts: [first, ...others], ...bounds };
      }
      case 'post':
        return { kind: 'post', id, at, step: step.step + 10, entry: entryOf(step.cost), most: step.most };
      case 'settle':
        return { kind: 'settle', id, at, entry: step.cost === null ? null : entryOf(step.cost), most: step.most };
      case 'expire':
        return { kind: 'expire', id, at, rule: step.rule };
      case 'void':
        return { kind: 'void', id, at };
      case 'release':
        return { kind: 'release', id };
      case 'attach':
        return { kind: 'attach', id, at, funds: this.drawnBy(step.who < HOLDS - 2 ? step.drawn : step.drawn | 4) };
      case 'grant':
        return { kind: 'grant', id: this.#world + step.name, at, holder: this.wallet, amount: step.amount, note: '' };
      case 'deposit': {
        const deposit = { paid: step.paid + 1, fee: Math.min(step.paid, step.fee), note: named };
        return { kind: 'deposit', id: named, at, holder: this.wallet, deposit };
      }
      case 'waive':
        return { kind: 'waive', id: named, at, holder: this.wallet, fee: step.fee, note: named };
      case 'correct':
        return { kind: 'correct', id: named, at, reservation: id, amount: step.amount, note: '' };
      case 'enforce': {
        const { budget } = this.funds[1]!;
        const limits = step.isOwn ? { limits: new Map([['own', step.limit]]) } : {};
        return { kind: 'enforce', budgets: [{ budget, rank: step.rank, at: 0, limit: step.limit, ...limits }] };
      }
      case 'count': {
        const [fund] = this.funds as [FundRef, FundRef];
        const { from, to, amount, opened } = step;
        const opening = opened !== undefined && { opening: { subjects: ['own'], sums: [{ fund, amount: opened }] } };
        return { kind: 'count', budget: fund.budget, from, to, sums: [{ fund, amount }], ...opening };
      }
    }
  }
}

/**
 * Returns an answer in a comparable form. After a refused capture, figures may or may not contain the deposit, because it counts once it is
 * durable. The function therefore leaves out the figures of a refused capture.
 */
export const plain = ({ kind }: LedgerOp, result: OpResult) =>
  result.kind === 'refused' && result.fund
    ? [result.why, result.fund.title.name, ...(kind === 'capture' ? [] : figuresIn(result.fund))]
    : result;
export const figuresIn = ({ limit, spent, held }: FundStanding) => [limit, spent, held];
