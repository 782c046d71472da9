import { describe, test } from 'bun:test';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { StoreError } from '../../src/store/store.ts';
import { isDeep } from '../deep/effort.ts';
import { either } from './hostile/through.ts';
import { anyHandle, hostileWorld } from './implementations.ts';
import { MemoryBooks } from './memory/books/books.ts';
import { booksInPostgres } from './postgres/stage.ts';
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

/** The books of a hostile store, by so many handles. */
export async function booksInHostile(handles: number): Promise<BooksUnderTest> {
  const world = hostileWorld();
  const stores = await Promise.all(Array.from({ length: handles }, (_, at) => world.open(`instance ${at}`)));
  const each = await Promise.all(stores.map((store) => store.openBooks(() => NOON)));
  const books = either(each, anyHandle(world, handles));
  return {
    books,
    fails: (fails) => {
      world.store.fault = fails ? new StoreError('disk full') : null;
    },
    reopened: async () => books,
    async [Symbol.asyncDispose]() {
      world.store.fault = null;
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

export type BooksCases = Readonly<Record<string, (test: BooksUnderTest) => Promise<void>>>;

/** Runs cases, and further tests, over every implementation; in `npm test`, cases of a store that instances share over two of them alone. */
export function overBooks(
  cases: BooksCases,
  further: (open: () => Promise<BooksUnderTest>, instances: number) => void = () => {},
): void {
  const ofOne = isDeep ? cases : {};
  const each = [
    ['books in SQLite', booksInSqlite, 1, cases],
    ['books in memory', booksInMemory, 1, cases],
    ['books in PostgreSQL', () => booksInPostgres(1), 1, ofOne],
    ['books in PostgreSQL, two instances', () => booksInPostgres(2), 2, cases],
    ['books of the hostile store', () => booksInHostile(1), 1, ofOne],
    ['books of the hostile store, two instances', () => booksInHostile(2), 2, cases],
  ] as const;
  for (const [name, open, instances, own] of each) {
    describe(name, () => {
      for (const [guarantee, run] of Object.entries(own)) {
        test(guarantee, async () => {
          await using box = await open();
          await run(box);
        });
      }
      further(open, instances);
    });
  }
}
