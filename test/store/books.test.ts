import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { LAWS, testLaws } from './books-law.ts';
import { BOOKS_CASES, holdOf, NOON, nextId, settleOf } from './suites/books.ts';
import { flaky, tempFolder } from './support.ts';
import { BOOKS_IN_PROCESS, booksInMemory, overBooks } from './tested-books.ts';

overBooks(BOOKS_IN_PROCESS, BOOKS_CASES, testLaws);

for (const [guarantee, { law, fault }] of Object.entries(LAWS)) {
  test(`the law detects a fault: ${guarantee}`, async () => {
    expect((await fc.check(law(booksInMemory, fault), { numRuns: 200, endOnFailure: true })).failed).toBe(true);
  });
}

test('a reservation that is held and settled in one call reads nothing from the store', async () => {
  using folder = tempFolder();
  const store = await openSqlite(folder.file, [ledgerMigrations]);
  let queries = 0;
  const counted: SqlStore = {
    ...flaky(store),
    query(statement, params) {
      queries++;
      return store.query(statement, params);
    },
  };
  const books = await openSqliteBooks({ store: counted, now: () => NOON });
  const ids = [nextId(), nextId()];
  const together = () => books.apply(ids.flatMap((id) => [holdOf(id, [], 0), settleOf(id, 0, 0)]));
  await books.apply([holdOf(nextId(), [], 1)]);
  queries = 0;
  const first = await together();
  expect([await together(), queries]).toEqual([first, 0]);
  await store.close();
});
