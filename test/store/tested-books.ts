import { describe } from 'bun:test';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { StoreError } from '../../src/store/store.ts';
import { isDeep } from '../deep/effort.ts';
import { either } from './hostile/through.ts';
import { anyHandle, hostileWorld } from './implementations.ts';
import { MemoryBooks } from './memory/books/books.ts';
import { type BooksUnderTest, NOON } from './suites/books.ts';
import { type Cases, flaky, tempFolder, testCases } from './support.ts';

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

/** Opens the books of a hostile store with this many handles. */
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

/** An implementation of the books. */
export interface TestedBooks {
  readonly name: string;
  readonly open: () => Promise<BooksUnderTest>;
  /** The number of instances that have the books open. */
  readonly instances: number;
  /** Whether more than one instance can have the books open. */
  readonly isShared: boolean;
}

/** The implementations that need no other process. */
export const BOOKS_IN_PROCESS: readonly TestedBooks[] = [
  { name: 'books in SQLite', open: booksInSqlite, instances: 1, isShared: false },
  { name: 'books in memory', open: booksInMemory, instances: 1, isShared: false },
  { name: 'books of the hostile store', open: () => booksInHostile(1), instances: 1, isShared: true },
  {
    name: 'books of the hostile store, two instances',
    ...{ open: () => booksInHostile(2), instances: 2, isShared: true },
  },
];

/**
 * Runs cases and further tests with each implementation. Except in `npm run test:deep`, cases of shared books run only with two instances.
 */
export function overBooks(
  implementations: readonly TestedBooks[],
  cases: Cases<BooksUnderTest>,
  further: (books: TestedBooks) => void = () => {},
): void {
  for (const books of implementations) {
    describe(books.name, () => {
      if (isDeep || !books.isShared || books.instances > 1) testCases(cases, books.open);
      further(books);
    });
  }
}
