import { expect } from 'bun:test';
import type { CountOp, LedgerBooks, Opening, UncountedCharges } from '../../../src/store/books.ts';
import { NOON } from '../../ledger/support.ts';
import { applied, figures, fundOf, granted, holdOf, nextId, settleOf } from './books.ts';

const WINDOW = { starts: NOON, ends: Number.POSITIVE_INFINITY };
const OWNERS = [{ keyId: 'key' }];
const REFUSED = { kind: 'refused', why: 'exhausted' };

/** A budget of a key, which is counted but does not count the key yet. */
class Budget {
  readonly fund = fundOf(1_000);
  readonly #books: LedgerBooks;

  constructor(books: LedgerBooks) {
    this.#books = books;
  }

  async read(owners: typeof OWNERS = []): Promise<UncountedCharges> {
    return await this.#books.uncounted(this.fund.budget, WINDOW, owners);
  }

  async count({ from, to }: UncountedCharges, amount: number, opening?: Opening) {
    const sums = amount === 0 ? [] : [{ fund: this.fund, amount }];
    const op: CountOp = { kind: 'count', budget: this.fund.budget, from, to, sums };
    return await applied(this.#books, opening ? { ...op, opening } : op);
  }

  /** Begins to count the key, with what it was charged. */
  open(read: UncountedCharges) {
    return this.count(read, 0, { subjects: ['key'], sums: [{ fund: this.fund, amount: sumOf(read.ofOwners) }] });
  }

  /** Charges the key. @param isDrawn whether the hold draws on the budget */
  async charge(amount: number, isDrawn: boolean): Promise<void> {
    const id = nextId();
    await this.#books.apply([holdOf(id, isDrawn ? [this.fund] : [], amount), settleOf(id, amount)]);
  }

  async counted(): Promise<ReadonlySet<string>> {
    return await this.#books.countedOf(this.fund.budget, ['key', 'other']);
  }

  static async on(books: LedgerBooks): Promise<Budget> {
    const budget = new Budget(books);
    await budget.charge(40, false);
    expect(await budget.count(await budget.read(), 0)).toEqual(granted(0));
    return budget;
  }
}

const sumOf = (charges: UncountedCharges['charges']) =>
  charges.reduce((sum, { microcredits }) => sum + microcredits, 0);

/** How books that several servers share begin to count a subject of a budget. */
export const OPENINGS: Readonly<Record<string, (books: LedgerBooks) => Promise<void>>> = {
  'a window opens with all charges of its subject up to the reading, and with later charges that drew on it': async (
    books,
  ) => {
    const budget = await Budget.on(books);
    await budget.charge(7, true);
    const read = await budget.read(OWNERS);
    expect([sumOf(read.charges), sumOf(read.ofOwners)]).toEqual([0, 47]);
    await budget.charge(5, true);
    expect(await budget.open(read)).toEqual(granted(0));
    expect(figures(books, budget.fund)).toEqual([[52, 0]]);
    expect(await budget.counted()).toEqual(new Set(['key']));
    expect(sumOf((await budget.read()).charges)).toBe(0);
  },
  'a count that was read before the budget began to count a subject is refused': async (books) => {
    const budget = await Budget.on(books);
    const opening = await budget.read(OWNERS);
    expect(opening.to).toBe(opening.from!.through);
    await budget.charge(9, false);
    const early = await budget.read();
    expect(await budget.counted()).toEqual(new Set());
    expect(await budget.open(opening)).toEqual(granted(0));
    expect(await budget.count(early, 0)).toMatchObject(REFUSED);
    const late = await budget.read();
    expect([sumOf(late.charges), await budget.counted()]).toEqual([9, new Set(['key'])]);
    expect(await budget.count(late, 9)).toEqual(granted(0));
    expect(figures(books, budget.fund)).toEqual([[49, 0]]);
  },
  'an opening that was read before another count is refused': async (books) => {
    const budget = await Budget.on(books);
    const opening = await budget.read(OWNERS);
    await budget.charge(9, false);
    expect(await budget.count(await budget.read(), 0)).toEqual(granted(0));
    expect(await budget.open(opening)).toMatchObject(REFUSED);
    expect(await budget.open(await budget.read(OWNERS))).toEqual(granted(0));
    expect(figures(books, budget.fund)).toEqual([[49, 0]]);
  },
};
