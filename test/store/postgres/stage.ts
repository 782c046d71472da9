import { type BooksDatabase, openPostgresBooks } from '../../../src/store/postgres/books/books.ts';
import DECIDE from '../../../src/store/postgres/books/decide.sql' with { type: 'text' };
import type { BooksQuery } from '../../../src/store/postgres/books/names.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { StoreError } from '../../../src/store/store.ts';
import { processTimers } from '../../../src/telemetry/process-timers.ts';
import type { BooksUnderTest } from '../suites/books.ts';
import { laidDatabase, PERMITTED } from './opened.ts';

/** The instances of the tests, whose leases last. */
const LEASES = `INSERT INTO instances (slot, epoch, until, ids_through, is_released)
  SELECT slot, 1, 9007199254740991, 0, 0 FROM generate_series(1, 8) AS slot`;

/** A database with an empty ledger. @param decide the function that decides, where it is another */
export async function emptyLedger(decide: string | null = null) {
  const database = await laidDatabase();
  const run = (text: string) => database.server.run(text, database.name);
  await run(LEASES);
  if (decide !== null) await run(decide.replaceAll('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
  const store = await openPostgres({ url: database.url, permitted: PERMITTED });
  return {
    ...{ store, run, url: database.url, query: store.deciding().query },
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
type EmptyLedger = Awaited<ReturnType<typeof emptyLedger>>;

interface StagedBooks {
  /** Whether the database refuses. */
  readonly isBroken?: () => boolean;
  /** Makes another way to read. */
  readonly change?: (query: BooksQuery) => BooksQuery;
  /** Makes another way to decide. */
  readonly spoil?: (decide: BooksDatabase['decide']) => BooksDatabase['decide'];
}

/** The books of an instance. */
export async function openBooksOn(
  { store }: Pick<EmptyLedger, 'store'>,
  slot = 1,
  { isBroken = () => false, change = (query) => query, spoil = (decide) => decide }: StagedBooks = {},
) {
  const database = store.deciding();
  const decide: BooksDatabase['decide'] = (...asked) =>
    isBroken() ? Promise.reject(new StoreError('disk full')) : database.decide(...asked);
  const clock = () => performance.now();
  /** Its epoch may be raised: the process takes another name. */
  const instance = { slot, epoch: 1 };
  const books = await openPostgresBooks({
    db: { query: change(database.query), decide: spoil(decide) },
    timers: processTimers,
    clock,
    instance,
  });
  const close = async () => {
    books.close();
    await database.close();
  };
  return { books, instance, close, [Symbol.asyncDispose]: close };
}

export async function booksInPostgres(): Promise<BooksUnderTest> {
  const ledger = await emptyLedger();
  let isBroken = false;
  let opened = await openBooksOn(ledger, 1, { isBroken: () => isBroken });
  return {
    books: opened.books,
    fails: (fails) => {
      isBroken = fails;
    },
    async reopened() {
      await opened.books.written();
      await opened.close();
      opened = await openBooksOn(ledger);
      return opened.books;
    },
    async [Symbol.asyncDispose]() {
      await opened.close();
      await ledger[Symbol.asyncDispose]();
    },
  };
}

export { DECIDE };
