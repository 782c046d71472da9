import { describe, expect, test } from 'bun:test';
import type { Timers } from '../../src/core/timers.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { StoreError, type Write } from '../../src/store/store.ts';
import { held, line, order } from '../ledger/support.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { SharedBooks } from './support.ts';

/** Pauses are over at once, and counted. */
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

/** Books whose first answers are lost, before or after the deed. */
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
    test(`${loss} the deed is repeated by its ID: the hold is made once, and its caller told one price`, async () => {
      const shared = new SharedBooks();
      const one = await shared.ledger('charge', losing(shared.books, [loss, loss]), hasty());
      const hold = await held(one.ledger, order(500));
      expect(shared.books.open()).toEqual({ count: 1, held: 500 });
      const { charged } = await hold.settle(line(120), () => []);
      expect([charged, await shared.booked(hold.id), shared.endsOf(hold.id)]).toEqual([120, 120, ['settle']]);
    });
  }

  test('for good: the hold is voided, once it is known to be refused to its caller', async () => {
    const shared = new SharedBooks();
    const timers = hasty();
    const one = await shared.ledger('charge', losing(shared.books, new Array(1_000).fill('after')), timers);
    const asked = order(500);
    await expect(one.ledger.reserve(asked)).rejects.toMatchObject({ reason: 'unknown' });
    expect(timers.waited).toBe(2_000);
    expect(shared.books.open()).toEqual({ count: 0, held: 0 });
    expect([await shared.booked(asked.id), shared.endsOf(asked.id)]).toEqual([0, ['expire']]);
  });

  test('a hold that comes behind its void is refused', async () => {
    const shared = new SharedBooks();
    const late = losing(shared.books, new Array(1_000).fill('before'));
    const one = await shared.ledger('charge', late, hasty());
    const asked = order(500);
    await expect(one.ledger.reserve(asked)).rejects.toMatchObject({ reason: 'unknown' });
    const two = await shared.ledger();
    await expect(two.ledger.reserve(asked)).rejects.toThrow('neither granted nor refused');
    expect(shared.books.open()).toEqual({ count: 0, held: 0 });
  });

  test('a raise is repeated by its step, and made once', async () => {
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

  test('what rides in it is written once', async () => {
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

  test('mutant: it is taken for one that has not happened, and its money stays held', async () => {
    const shared = new SharedBooks();
    const other = losing(shared.books, ['after']);
    const apply: LedgerBooks['apply'] = (ops, also) =>
      other.apply(ops, also).catch(() => Promise.reject(new StoreError('it has not happened')));
    const one = await shared.ledger('charge', { apply }, hasty());
    await expect(one.ledger.reserve(order(500))).rejects.toBeInstanceOf(StoreError);
    expect(shared.books.open()).not.toEqual({ count: 0, held: 0 });
  });
});
