import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { sqliteJournal } from '../../src/store/sqlite/books/journal-reader.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { tries } from '../deep/effort.ts';
import { tempFolder } from '../store/support.ts';
import type { Lay } from './budgets-law.ts';
import { grantedAfterLateTerms, LAW, lawOf } from './ending-budgets-law.ts';
import { findingsIn, sharedBooks } from './ledgers.ts';

/** Two servers that share books in memory. */
const inMemory: Lay = async () => {
  const shared = sharedBooks();
  return {
    books: [shared.books, shared.books],
    findings: () => findingsIn(shared),
    [Symbol.asyncDispose]: async () => {},
  };
};

/** SQLite serves only one server. */
const inSqlite: Lay = async () => {
  const folder = tempFolder();
  const store = await openSqlite(folder.file, [ledgerMigrations, accessMigrations]);
  return {
    books: [await openSqliteBooks({ store, now: () => Date.now() })],
    findings: () => findingsIn({ journal: sqliteJournal(store) }),
    async [Symbol.asyncDispose]() {
      await store.close();
      folder[Symbol.dispose]();
    },
  };
};

describe.each([
  ['two servers in memory', inMemory, 60],
  ['one server with SQLite', inSqlite, 20],
] as const)('with %s', (_, lay, runs) => {
  test(LAW, async () => {
    await fc.assert(lawOf(lay), tries('budgets with an end', runs, 2_000));
  });

  test('the law of budgets with an end fails for servers that keep their terms', async () => {
    const how = { ...tries('budgets with an end', 300, 300), endOnFailure: true };
    expect((await fc.check(lawOf(lay, false), how)).failed).toBe(true);
  });
});

test('a server that is late with its earlier terms does not bring back a budget that has ended', async () => {
  expect(await grantedAfterLateTerms(inMemory)).toBe(0);
});
