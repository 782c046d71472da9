import { describe, expect, test } from 'bun:test';
import type { Timers } from '../../src/core/time/timers.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { StoreError, type Write } from '../../src/store/store.ts';
import { held, line, order } from '../ledger/support.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { SharedBooks } from './support.ts';

/** Timers whose pauses end at once and are counted. */
function hasty(): Timers & { waited: number } {
  const never = { unref: () => {}, close: () => {} };
  const timers = {
    waited: 0,
    after(ms: number, run: () => void) {
      timers.waited += ms;
      queueMicrotask(run);
      return never;
    },
    every: () => never,
  };
  return timers;
}

const lost = () => new StoreError('no answer', { reason: 'unknown' });

/** Books whose first answers get lost, before or after the operations are applied. */
const losing = (books: MemoryBooks, losses: readonly ('before' | 'after')[]): Pick<LedgerBooks, 'apply'> => {
  const left = [...losses];
  return {
    async apply(ops, also) {
      const loss = left.shift();
      if (loss === 'before') throw lost();
      const results = await books.apply(ops, also);
      if (loss === 'after') throw lost();
      return results;
    },
  };
};

describe('a commit whose answer is lost', () => {
  for (const loss of ['before', 'after'] as const) {
    test(`if an answer is lost ${loss} the commit, the server sends the commit again with its ID: there is one hold and one price`, async () => {
      const shared = new SharedBooks();
      const one = await shared.ledger('charge', losing(shared.books, [loss, loss]), hasty());
      const hold = await held(one.ledger, order(500));
      expect(shared.books.open()).toEqual({ count: 1, held: 500 });
      const { charged } = await hold.settle(line(120), () => []);
      expect([charged, await shared.booked(hold.id), shared.endsOf(hold.id)]).toEqual([120, 120, ['settle']]);
    });
  }

  test('if every answer to the commit is lost, the server refuses the request and voids its hold', async () => {
    const shared = new SharedBooks();
    const timers = hasty();
    const one = await shared.ledger('charge', losing(shared.books, new Array(1_000).fill('after')), timers);
    const asked = order(500);
    await expect(one.ledger.reserve(asked)).rejects.toMatchObject({ reason: 'unknown' });
    expect(timers.waited).toBe(2_000);
    expect(shared.books.open()).toEqual({ count: 0, held: 0 });
    expect([await shared.booked(asked.id), shared.endsOf(asked.id)]).toEqual([0, ['expire']]);
  });

  test('a hold that arrives after its void is refused', async () => {
    const shared = new SharedBooks();
    const late = losing(shared.books, new Array(1_000).fill('before'));
    const one = await shared.ledger('charge', late, hasty());
    const asked = order(500);
    await expect(one.ledger.reserve(asked)).rejects.toMatchObject({ reason: 'unknown' });
    const two = await shared.ledger();
    await expect(two.ledger.reserve(asked)).rejects.toThrow('neither granted nor refused');
    expect(shared.books.open()).toEqual({ count: 0, held: 0 });
  });

  test('if the answer to a raise is lost, the server sends the raise again with its step, and the raise is made once', async () => {
    const shared = new SharedBooks();
    let isLosing = false;
    const apply: LedgerBooks['apply'] = async (ops, also) => {
      const results = await shared.books.apply(ops, also);
      if (!isLosing) return results;
      isLosing = false;
      throw lost();
    };
    const one = await shared.ledger('charge', { apply }, hasty());
    const hold = await held(one.ledger, order(500));
    isLosing = true;
    expect(await hold.raise([100])).toBe(true);
    expect([hold.reserved, shared.books.open().held]).toEqual([600, 600]);
  });

  test('if the server sends a commit again, the attached writes of the commit are written once', async () => {
    const written: Write[] = [];
    const take = (writes: readonly Write[]) => void written.push(...writes);
    const books = new MemoryBooks({
      commit: async (writes) => take(writes),
      append: take,
      written: async () => true,
    });
    const shared = new SharedBooks(books);
    const claim: Write = {};
    const one = await shared.ledger('charge', losing(books, ['after', 'after']), hasty());
    await held(one.ledger, order(500, { also: [claim] }));
    expect(written).toEqual([claim]);
  });

  test('the test finds a mutant that counts a lost answer as a failure, so that the money stays held', async () => {
    const shared = new SharedBooks();
    const other = losing(shared.books, ['after']);
    const apply: LedgerBooks['apply'] = (ops, also) =>
      other.apply(ops, also).catch(() => Promise.reject(new StoreError('it has not happened')));
    const one = await shared.ledger('charge', { apply }, hasty());
    await expect(one.ledger.reserve(order(500))).rejects.toBeInstanceOf(StoreError);
    expect(shared.books.open()).not.toEqual({ count: 0, held: 0 });
  });
});
