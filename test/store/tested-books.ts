import { describe, test } from 'bun:test';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { StoreError } from '../../src/store/store.ts';
import { MemoryBooks } from './memory/books/books.ts';
import { type BooksUnderTest, NOON } from './suites/books.ts';
import { flaky, tempFolder } from './support.ts';

export async function booksInSqlite(): Promise<BooksUnderTest> {
  const folder = tempFolder();
  let isBroken = false;
  let store = await openSqlite(folder.file, [ledgerMigrations]);
  const open = () => openSqliteBooks({ store: flaky(store, () => isBroken), now: () => NOON });
  return {
    books: await open(),
    fails: (fails) => {
      isBroken = fails;
    },
    async reopened() {
      await store.close();
      store = await openSqlite(folder.file, [ledgerMigrations]);
      return open();
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

export async function booksInMemory(): Promise<BooksUnderTest> {
  let isBroken = false;
  const commit = async () => {
    if (isBroken) throw new StoreError('disk full');
  };
  const books = new MemoryBooks({ commit, append: () => {}, written: async () => true });
  return {
    books,
    fails: (fails) => {
      isBroken = fails;
    },
    reopened: async () => books,
    [Symbol.asyncDispose]: async () => {},
  };
}

export type BooksCases = Readonly<Record<string, (test: BooksUnderTest) => Promise<void>>>;

/** Runs cases, and further tests, over every implementation. */
export function overBooks(cases: BooksCases, further: (open: () => Promise<BooksUnderTest>) => void = () => {}): void {
  for (const [name, open] of Object.entries({ 'books in SQLite': booksInSqlite, 'books in memory': booksInMemory })) {
    describe(name, () => {
      for (const [guarantee, run] of Object.entries(cases)) {
        test(guarantee, async () => {
          await using box = await open();
          await run(box);
        });
      }
      further(open);
    });
  }
}
