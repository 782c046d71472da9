import { expect } from 'bun:test';
import type { EntryLine } from '../../../src/core/accounting/entry.ts';
import type { FundRef } from '../../../src/core/accounting/fund.ts';
import { quarterOf } from '../../../src/core/accounting/window.ts';
import { idAt } from '../../../src/core/id.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import type { LedgerBooks, LedgerOp, OpResult } from '../../../src/store/books.ts';
import type { Cases } from '../support.ts';

/** Books under test. */
export interface BooksUnderTest extends AsyncDisposable {
  readonly books: LedgerBooks;
  /** Sets whether every commit fails from now on. */
  fails(fails: boolean): void;
  /** Closes the books, and returns them as the next start reads them. Books in memory keep their content. */
  reopened(): Promise<LedgerBooks>;
}

export const NOON = Date.UTC(2026, 10, 20, 12);
export const WALLET = `0x${'a1'.repeat(20)}`;
const DIMENSIONS = { key: 'key', selector: 'auto', 'label:team': 'red' };
const TARIFF = { model: 'm', provider: 'p', upstream: 'u', price: '{}' };
const at = NOON;

let keys = 0;
export function fundOf(limit: number, name = 'all'): FundRef {
  const title = { kind: 'budget', name, subject: '', definition: '', starts: 0, ends: Infinity } as const;
  const budget = ++keys;
  return { key: `${budget}`, title, budget, limit };
}
export const balanceOf = (holder: string): FundRef => ({
  key: `balance/${holder}`,
  title: { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity },
  budget: 0,
  limit: 0,
});

let ids = idAt(NOON);
export const nextId = (): number => ++ids;
export const entryOf = (cost: number, stated?: number): EntryLine => ({
  ...(stated !== undefined && { stated }),
  ...{ tariff: TARIFF, usage: plainUsage(1, 1), estimated: false, cost },
});
const rest = { at, dimensions: DIMENSIONS, owner: 'one', expiresAt: NOON + 60_000, note: null };
export const holdOf = (id: number, funds: readonly FundRef[], ...amounts: [number, ...number[]]): LedgerOp => ({
  ...{ kind: 'hold', id, funds, amounts, ...rest },
});
export const earmarkOf = (id: number, funds: readonly FundRef[], amount: number, expected: number): LedgerOp => ({
  ...{ kind: 'earmark', id, funds, amounts: [amount], expected, ...rest },
});
export const settleOf = (id: number, cost: number | null, most = Number.MAX_SAFE_INTEGER): LedgerOp => ({
  ...{ kind: 'settle', id, at, entry: cost === null ? null : entryOf(cost), most },
});
export const postOf = (id: number, step: number, cost: number): LedgerOp => ({
  ...{ kind: 'post', id, step, at, entry: entryOf(cost), most: Number.MAX_SAFE_INTEGER },
});
export const extendOf = (id: number, step: number, by: number): LedgerOp => ({
  ...{ kind: 'extend', id, step, at, amounts: [by] },
});
export const depositOf = (id: string, paid: number, fee = 0): LedgerOp => ({
  ...{ kind: 'deposit', id, at, holder: WALLET, deposit: { paid, fee, note: id } },
});

export const enforceOf = ({ budget }: FundRef, limit: number, rank = 2, at = 0): LedgerOp => ({
  ...{ kind: 'enforce', budgets: [{ budget, rank, at, limit }] },
});

export async function applied(books: LedgerBooks, op: LedgerOp): Promise<OpResult> {
  const [result] = await books.apply([op]);
  return result!;
}
/**
 * Returns what a budget has not counted. A charge of an unfinished commit becomes visible with the next commit, so this makes an empty one.
 */
export async function uncounted(books: LedgerBooks) {
  const next = nextId();
  await books.apply([holdOf(next, [], 1), settleOf(next, 0)]);
  const { from, charges } = await books.uncounted(1, { starts: NOON, ends: Number.POSITIVE_INFINITY });
  return { from, charges: charges.filter(({ microcredits }) => microcredits > 0) };
}
/** Returns the spent and held amounts of funds. */
export const figures = (books: LedgerBooks, ...funds: FundRef[]) =>
  books.standing(funds).map(({ spent, held }) => [spent, held]);
export const granted = (amount: number): OpResult => ({ kind: 'granted', amount });
export const charged = (amount: number, overrun = 0): OpResult => ({ kind: 'charged', charged: amount, overrun });

/** The guarantees of all books, by name. */
export const BOOKS_CASES: Cases<BooksUnderTest> = {
  'a hold gets its first amount, or the largest fallback amount of which twice as much is free': async ({ books }) => {
    const fund = fundOf(500);
    expect(await applied(books, holdOf(nextId(), [fund], 100, 300, 200))).toEqual(granted(200));
    expect(await applied(books, holdOf(nextId(), [fund], 200, 300))).toEqual(granted(200));
    expect(figures(books, fund)).toEqual([[0, 400]]);
  },
  'the active limit also applies to a window that a later policy named before that policy was active': async ({
    books,
  }) => {
    const fund = fundOf(400);
    await books.append([enforceOf(fund, 100)]);
    expect(await applied(books, holdOf(nextId(), [fund], 150))).toMatchObject({ why: 'exhausted' });
    await books.append([enforceOf(fund, 400, 3)]);
    expect(await applied(books, holdOf(nextId(), [fund], 150))).toEqual(granted(150));
  },
  'a hold with a least amount gets what all of its funds have free, if that is at least this amount': async ({
    books,
  }) => {
    const [large, small] = [fundOf(500), fundOf(130)];
    const least = (op: LedgerOp, least: number): LedgerOp => ({ ...op, least }) as LedgerOp;
    expect(await applied(books, least(holdOf(nextId(), [large, small], 100, 300), 40))).toEqual(granted(100));
    expect(await applied(books, least(holdOf(nextId(), [large, small], 100), 40))).toMatchObject({
      ...{ kind: 'refused', why: 'contended', fund: { limit: 130, held: 100 } },
    });
    expect(await applied(books, least(holdOf(nextId(), [large, small], 200), 131))).toMatchObject({ why: 'exhausted' });
    const id = nextId();
    expect(await applied(books, least(holdOf(id, [large, small], 100), 30))).toEqual(granted(30));
    expect(await applied(books, least(extendOf(id, 1, 50), 1))).toMatchObject({ kind: 'refused', why: 'contended' });
    expect(await applied(books, extendOf(id, 2, 0))).toEqual(granted(0));
    expect(figures(books, large, small)).toEqual([
      [0, 130],
      [0, 130],
    ]);
    // A repeated hold returns its first result.
    expect(await applied(books, least(holdOf(id, [large, small], 100), 30))).toEqual(granted(30));
    expect(await applied(books, settleOf(id, 40))).toEqual(charged(30, 10));
    const other = nextId();
    await applied(books, holdOf(other, [fundOf(100)], 60));
    expect(await applied(books, least(extendOf(other, 1, 50), 10))).toEqual(granted(40));
    for (const none of [-1, 0.5, 101]) {
      await expect(applied(books, least(holdOf(nextId(), [large], 100), none))).rejects.toBeInstanceOf(RangeError);
    }
  },
  'a hold that gets less than its first amount leaves a part of the free money to others, unless its ample amount is free':
    async ({ books }) => {
      const fund = fundOf(1_000);
      const ample = (op: LedgerOp, ample: number): LedgerOp => ({ ...op, least: 10, ample }) as LedgerOp;
      const ask = (much: number) => applied(books, ample(holdOf(nextId(), [fund], 2_000), much));
      expect(await ask(50)).toEqual(granted(500));
      expect(await ask(50)).toEqual(granted(62));
      expect(await ask(400)).toEqual(granted(400));
      expect(await ask(50)).toEqual(granted(38));
      expect(await ask(50)).toMatchObject({ kind: 'refused', why: 'contended' });
      expect(figures(books, fund)).toEqual([[0, 1_000]]);
      for (const none of [-1, 0.5, Number.NaN]) await expect(ask(none)).rejects.toBeInstanceOf(RangeError);
    },
  'a hold takes from all of its funds or from none': async ({ books }) => {
    const [large, small] = [fundOf(500), fundOf(50)];
    const result = await applied(books, holdOf(nextId(), [large, small], 100));
    expect(result).toMatchObject({ kind: 'refused', why: 'exhausted', fund: { limit: 50, spent: 0, held: 0 } });
    expect(figures(books, large, small)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  },
  'a refusal is final if the money can never become free, otherwise contended; it is not remembered': async ({
    books,
  }) => {
    const fund = fundOf(100);
    const [first, second] = [nextId(), nextId()];
    await applied(books, holdOf(first, [fund], 80));
    expect(await applied(books, holdOf(second, [fund], 101))).toMatchObject({ kind: 'refused', why: 'exhausted' });
    expect(await applied(books, holdOf(second, [fund], 30))).toMatchObject({ kind: 'refused', why: 'contended' });
    await applied(books, settleOf(first, 10));
    expect(await applied(books, holdOf(second, [fund], 30))).toEqual(granted(30));
  },
  'a settlement charges at most the amount of the hold, and releases the rest': async ({ books }) => {
    const fund = fundOf(100);
    const [one, two] = [nextId(), nextId()];
    await books.apply([holdOf(one, [fund], 40), holdOf(two, [fund], 40)]);
    expect(await books.apply([settleOf(one, 15), settleOf(two, 55)])).toEqual([charged(15), charged(40, 15)]);
    expect(figures(books, fund)).toEqual([[55, 0]]);
    expect(await books.charged()).toBe(55);
  },
  'a settlement charges no more than its caller knows to be held': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    await applied(books, holdOf(id, [fund], 30));
    await applied(books, extendOf(id, 1, 20));
    expect(await applied(books, settleOf(id, 45, 30))).toEqual(charged(30, 15));
    expect(figures(books, fund)).toEqual([[30, 0]]);
  },
  'settling an expired hold corrects its charge once and refunds what was charged too much': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    await applied(books, holdOf(id, [fund], 60));
    await applied(books, postOf(id, 1, 5));
    const expired = { kind: 'expire', id, at, rule: 'charge' } as const;
    expect(await applied(books, expired)).toEqual(charged(60));
    expect(await applied(books, postOf(id, 2, 10))).toEqual(charged(10));
    for (let i = 0; i < 2; i++) expect(await applied(books, settleOf(id, 20))).toEqual(charged(35));
    expect(await applied(books, expired)).toEqual(charged(60));
    expect(figures(books, fund)).toEqual([[35, 0]]);
    expect(await books.charged()).toBe(35);
    await books.written();
    expect(await books.reservation(id)).toMatchObject({ isOpen: false, charged: 60, givenBack: 25 });
  },
  'settling a hold that was released charges only what its funds still have': async ({ books }) => {
    const fund = fundOf(100);
    const [id, other] = [nextId(), nextId()];
    await applied(books, holdOf(id, [fund], 60));
    expect(await applied(books, { kind: 'expire', id, at, rule: 'release' })).toEqual(charged(0));
    await applied(books, holdOf(other, [fund], 70));
    for (let i = 0; i < 2; i++) expect(await applied(books, settleOf(id, 50))).toEqual(charged(30, 20));
    expect(figures(books, fund)).toEqual([[30, 70]]);
    await applied(books, settleOf(other, 70));
    expect(await books.charged()).toBe(100);
  },
  'follow-up operations are requested once, with the results, and are booked with them': async ({ books }) => {
    const id = nextId();
    await applied(books, holdOf(id, [fundOf(100)], 60));
    await applied(books, depositOf('pay_5', 50, 3));
    const waive: LedgerOp = { kind: 'waive', id: 'pay_5/fee', at, holder: WALLET, fee: 3, note: 'pay_5' };
    const asked: unknown[] = [];
    const results = await books.append([settleOf(id, 20)], (results) => {
      asked.push(results);
      return { ops: [waive], writes: [] };
    });
    expect([results, asked]).toEqual([[charged(20)], [[charged(20)]]]);
    expect(books.balanceOf(WALLET)).toMatchObject({ limit: 50 });
  },
  'a voided hold charges nothing; a hold that arrives after its void is refused': async ({ books }) => {
    const fund = fundOf(100);
    const [made, coming] = [nextId(), nextId()];
    await applied(books, holdOf(made, [fund], 60));
    for (const id of [made, coming]) {
      for (let i = 0; i < 2; i++) expect(await books.append([{ kind: 'void', id, at }])).toEqual([charged(0)]);
    }
    for (const op of [holdOf(coming, [fund], 60), earmarkOf(coming, [fund], 60, 0)]) {
      expect(await applied(books, op)).toEqual({ kind: 'refused', why: 'exhausted', fund: null });
    }
    expect(await applied(books, settleOf(made, 50))).toEqual(charged(0));
    expect([books.open(), figures(books, fund)]).toEqual([{ count: 0, held: 0 }, [[0, 0]]]);
  },
  'a repeated operation returns its first result, no matter how many operations came since': async ({ books }) => {
    const fund = fundOf(1e6);
    books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [fund] });
    const [id, expired] = [nextId(), nextId()];
    const ops = [holdOf(id, [fund], 30), extendOf(id, 1, 10), postOf(id, 2, 5), postOf(id, 3, 50), settleOf(id, 20)];
    const first: OpResult[] = [];
    for (const op of ops) first.push(await applied(books, op));
    await books.apply([holdOf(expired, [fund], 60)]);
    await books.apply([{ kind: 'expire', id: expired, at, rule: 'charge' }]);
    for (let i = 0; i < 11; i++) {
      const others = Array.from({ length: 100 }, nextId);
      await books.apply(others.map((other) => holdOf(other, [], 1)));
      await books.append(others.map((other) => settleOf(other, 0)));
    }
    const before = [await books.charged(), figures(books, fund)];
    for (const [at, op] of ops.entries()) expect(await applied(books, op)).toEqual(first[at]!);
    expect([await books.charged(), figures(books, fund)]).toEqual(before);
    for (let i = 0; i < 2; i++) expect(await applied(books, settleOf(expired, 25))).toEqual(charged(25));
    expect(figures(books, fund)).toEqual([[65, 0]]);
  },
  'a post leaves less money for the next attempt, and the settlement includes its charge': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    await applied(books, holdOf(id, [fund], 50));
    expect(await applied(books, postOf(id, 1, 20))).toEqual(charged(20));
    expect(await applied(books, extendOf(id, 2, 10))).toEqual(granted(10));
    expect(await applied(books, extendOf(id, 3, 51))).toMatchObject({ kind: 'refused', why: 'contended' });
    expect(await applied(books, settleOf(id, 35))).toEqual(charged(55));
    expect(figures(books, fund)).toEqual([[55, 0]]);
  },
  'a repeated operation returns its first result and changes nothing': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    const ops = [holdOf(id, [fund], 30), extendOf(id, 1, 10), postOf(id, 2, 5), settleOf(id, 20)];
    for (const op of ops) {
      const first = await applied(books, op);
      const before = figures(books, fund);
      expect(await applied(books, op)).toEqual(first);
      expect(figures(books, fund)).toEqual(before);
    }
    // A repeated hold returns its first result even after it has ended.
    expect(await applied(books, ops[0]!)).toEqual(granted(30));
    expect(await applied(books, settleOf(id, null))).toEqual(charged(25));
    expect(await books.charged()).toBe(25);
  },
  'an operation that could not be written has not happened, and can be retried': async ({ books, fails }) => {
    const fund = fundOf(100);
    const [held, lost] = [nextId(), nextId()];
    await applied(books, holdOf(held, [fund], 30));
    fails(true);
    await expect(applied(books, holdOf(lost, [fund], 20))).rejects.toThrow();
    await expect(applied(books, extendOf(held, 1, 20))).rejects.toThrow();
    await expect(applied(books, depositOf('pay_1', 50))).rejects.toThrow();
    expect([figures(books, fund), books.balanceOf(WALLET)]).toEqual([[[0, 30]], null]);
    fails(false);
    expect(await applied(books, holdOf(lost, [fund], 20))).toEqual(granted(20));
    expect(await applied(books, depositOf('pay_1', 50))).toEqual(granted(50));
    expect(books.balanceOf(WALLET)).toMatchObject({ limit: 50 });
  },
  'a deposit counts once, less its fee; a waived fee is refunded once': async ({ books }) => {
    const waive: LedgerOp = { kind: 'waive', id: 'pay_2/fee', at, holder: WALLET, fee: 3, note: 'pay_2' };
    for (let i = 0; i < 2; i++) expect(await applied(books, depositOf('pay_2', 50, 3))).toEqual(granted(47));
    for (let i = 0; i < 2; i++) expect(await applied(books, waive)).toEqual(granted(3));
    const deposit = { paid: 0, fee: -3, note: 'pay_2' };
    const back: LedgerOp = { kind: 'deposit', id: 'pay_2/fee', at, holder: WALLET, deposit };
    expect(await applied(books, back)).toEqual(granted(3));
    expect(books.balanceOf(WALLET)).toMatchObject({ limit: 50, spent: 0, held: 0 });
  },
  'an earmark holds what its payment will not cover; once captured, it is a hold after the deposit': async ({
    books,
  }) => {
    const funds = [fundOf(300), balanceOf(WALLET)];
    await applied(books, depositOf('pay_3', 50));
    const id = nextId();
    expect(await applied(books, earmarkOf(id, funds, 120, 90))).toEqual(granted(120));
    expect(figures(books, ...funds)).toEqual([
      [0, 120],
      [0, 30],
    ]);
    const deposit = { paid: 90, fee: 0, note: 'pay_4' };
    for (let i = 0; i < 2; i++) {
      expect(await applied(books, { kind: 'capture', id, at, deposit })).toEqual(granted(120));
    }
    // A late repetition returns the first result and holds nothing more.
    expect(await applied(books, earmarkOf(id, funds, 120, 90))).toEqual(granted(120));
    expect(figures(books, ...funds)).toEqual([
      [0, 120],
      [0, 120],
    ]);
    expect(books.balanceOf(WALLET)).toMatchObject({ limit: 140 });
    expect(await applied(books, settleOf(id, 100))).toEqual(charged(100));
    expect(figures(books, ...funds)).toEqual([
      [100, 0],
      [100, 0],
    ]);
  },
  'a released earmark holds nothing': async ({ books }) => {
    const funds = [fundOf(300), balanceOf(WALLET)];
    const id = nextId();
    await applied(books, earmarkOf(id, funds, 120, 120));
    for (let i = 0; i < 2; i++) await applied(books, { kind: 'release', id });
    expect(figures(books, ...funds)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  },
  'a grant counts once; a correction refunds once, and never more than was charged': async ({ books }) => {
    const fund = fundOf(100);
    books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [fund] });
    const grant: LedgerOp = { kind: 'grant', id: nextId(), at, holder: 'key', amount: 70, note: '' };
    for (let i = 0; i < 2; i++) expect(await applied(books, grant)).toEqual(granted(70));
    expect(books.balanceOf('key')).toMatchObject({ limit: 70 });
    const id = nextId();
    await applied(books, holdOf(id, [fund], 60));
    await applied(books, settleOf(id, 50));
    await books.written();
    const correct = (amount: number): LedgerOp => ({
      kind: 'correct',
      id: `give back ${nextId()}`,
      at,
      reservation: id,
      amount,
      note: '',
    });
    const first = correct(30);
    for (let i = 0; i < 2; i++) expect(await applied(books, first)).toEqual(granted(30));
    expect(await applied(books, correct(30))).toEqual(granted(20));
    expect(await applied(books, correct(30))).toEqual(granted(0));
    expect(figures(books, fund)).toEqual([[0, 0]]);
    expect(await books.charged()).toBe(0);
  },
  'a hold that is attached to new funds holds its money there, and no longer in the old ones': async ({ books }) => {
    const [old, fresh] = [fundOf(100), fundOf(20)];
    const id = nextId();
    await applied(books, holdOf(id, [old], 60));
    await applied(books, { kind: 'attach', id, at, funds: [fresh] });
    expect(figures(books, old, fresh)).toEqual([
      [0, 0],
      [0, 60],
    ]);
    await applied(books, settleOf(id, 25));
    expect(figures(books, old, fresh)).toEqual([
      [0, 0],
      [25, 0],
    ]);
  },
  'lowering a limit keeps what is held and grants nothing more': async ({ books }) => {
    const fund = fundOf(100);
    const id = nextId();
    await applied(books, holdOf(id, [fund], 60));
    await applied(books, enforceOf(fund, 50));
    expect(await applied(books, extendOf(id, 1, 1))).toMatchObject({ kind: 'refused' });
    expect(books.standing([fund])).toMatchObject([{ limit: 50, held: 60, free: -10 }]);
  },
  'impossible amounts throw RangeError and change nothing': async ({ books }) => {
    const fund = fundOf(100);
    for (const amount of [-1, 0.5, Number.NaN]) {
      await expect(applied(books, holdOf(nextId(), [fund], amount))).rejects.toBeInstanceOf(RangeError);
    }
    await expect(applied(books, settleOf(nextId(), 1))).rejects.toBeInstanceOf(RangeError);
    expect(books.open()).toEqual({ count: 0, held: 0 });
  },
  'costs that answers state are summed beside the costs of the same attempts, also beyond the hold': async ({
    books,
  }) => {
    const id = nextId();
    const most = Number.MAX_SAFE_INTEGER;
    await applied(books, holdOf(id, [], 60));
    await applied(books, { kind: 'post', id, step: 1, at, entry: entryOf(10, 7), most });
    await applied(books, { kind: 'post', id, step: 2, at, entry: entryOf(5), most });
    expect(await applied(books, { kind: 'settle', id, at, entry: entryOf(70, 90), most })).toEqual(charged(60, 25));
    const used = await books.usage({ keyId: 'key', from: NOON, to: NOON + 900_000 });
    const sums = (member: 'charges' | 'microcredits' | 'stated' | 'matched') =>
      used.reduce((sum, one) => sum + one[member], 0);
    expect([sums('charges'), sums('microcredits'), sums('stated'), sums('matched')]).toEqual([3, 60, 97, 80]);
  },
  'charges are grouped by their dimensions, which are an open list': async ({ books }) => {
    const id = nextId();
    await applied(books, holdOf(id, [], 60));
    await applied(books, settleOf(id, 25));
    const used = await books.usage({ keyId: 'key', from: NOON, to: NOON + 900_000 });
    expect(used).toMatchObject([{ dimensions: DIMENSIONS, model: 'm', provider: 'p', microcredits: 25 }]);
    const span = { keyId: null, from: NOON, to: NOON + 900_000 };
    const coarse = await books.usage({ ...span, keyIds: new Set(['other', 'key']), hasRuns: false });
    expect(coarse).toMatchObject([{ dimensions: { key: 'key' }, charges: 1, microcredits: 25 }]);
    expect(await books.usage({ ...span, keyIds: new Set(['other']) })).toEqual([]);
    const { from, charges } = await uncounted(books);
    expect(from).toBeNull();
    expect(charges).toMatchObject([{ dimensions: DIMENSIONS, microcredits: 25, quarter: quarterOf(NOON) }]);
  },
};
