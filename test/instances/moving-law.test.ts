import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { isDeep, tries } from '../deep/effort.ts';
import { findingsOf } from '../ledger/audit-support.ts';
import { NOON } from '../ledger/support.ts';
import { booksOf } from '../store/memory/books/handle.ts';
import { OPENINGS } from '../store/suites/openings.ts';
import { tempFolder } from '../store/support.ts';
import { findingsIn, sharedBooks } from './ledgers.ts';
import { countingLimitedOnly, LAW, type LayMoving, lawOf, openingUnlocked, replacing, slow } from './moving-law.ts';

/** @param seen changes the books as one server sees them, to make a mutant */
function inMemory(seen: typeof openingUnlocked = (books) => books): LayMoving {
  return async (random) => {
    const shared = sharedBooks();
    const books = [1, 2].map((slot) => slow(seen(booksOf(shared.books, { slot, epoch: 1 })), random, true));
    return { books, findings: () => findingsIn(shared), [Symbol.asyncDispose]: async () => {} };
  };
}

/** SQLite serves a single server. */
function inSqlite(seen: typeof openingUnlocked = (books) => books): LayMoving {
  return async (random) => {
    const folder = tempFolder();
    const store = await openSqlite(folder.file, [ledgerMigrations, accessMigrations]);
    const books = await openSqliteBooks({ store, now: () => NOON });
    return {
      books: [slow(seen(books), random, false)],
      async findings() {
        await books.checkpoint();
        await store.flush();
        return await findingsOf(folder.file);
      },
      async [Symbol.asyncDispose]() {
        await store.close();
        folder[Symbol.dispose]();
      },
    };
  };
}

test(`in memory, ${LAW}`, async () => {
  await fc.assert(lawOf(inMemory()), tries('moving users of two servers', 60, 5_000));
});

test(`in SQLite, ${LAW}`, async () => {
  await fc.assert(lawOf(inSqlite()), tries('moving users, in SQLite', 8, 400));
});

for (const [name, run] of Object.entries(OPENINGS)) test(`in memory, ${name}`, () => run(sharedBooks().books));

const MUTANTS: Readonly<Record<string, LayMoving>> = {
  'the sums of an opening are read before the lock': inMemory(openingUnlocked),
  'a server counts only users that it limits': inMemory(countingLimitedOnly),
  'charges between an opening and the swap are forgotten, in SQLite': inSqlite((books) =>
    replacing(books, {
      uncounted(...asked) {
        const found = books.uncounted(...asked);
        return found instanceof Promise ? found : { ...found, charges: [] };
      },
    }),
  ),
};

for (const [name, lay] of Object.entries(MUTANTS)) {
  test(`the law of moving users fails if ${name}`, async () => {
    const how = { ...tries('moving users of two servers', 300, 1_500), endOnFailure: true };
    const { failed } = await fc.check(lawOf(lay), isDeep ? how : { ...how, seed: 1 });
    expect(failed).toBe(true);
  });
}
