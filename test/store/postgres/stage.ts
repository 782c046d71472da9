import type { Timers } from '../../../src/core/time/timers.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import type { LedgerBooks, LedgerOp } from '../../../src/store/books.ts';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { type BooksDatabase, openPostgresBooks } from '../../../src/store/postgres/books/books.ts';
import { DecidingDatabase } from '../../../src/store/postgres/books/database.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { PostgresDialect } from '../../../src/store/postgres/dialect.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { StoreError } from '../../../src/store/store.ts';
import { laidDatabase } from '../../support/shared-postgres.ts';
import { either, through } from '../hostile/through.ts';
import type { BooksUnderTest } from '../suites/books.ts';
import type { TestedBooks } from '../tested-books.ts';
import { emptiedBy } from './opened.ts';

/** Inserts the instances of the tests, with leases that do not end. */
const LEASES = `INSERT INTO instances (slot, epoch, until, ids_through, is_released)
  SELECT slot, 1, 9007199254740991, 0, 0 FROM generate_series(0, 8) AS slot`;

/** A database with an empty ledger. */
export async function emptyLedger() {
  const database = await laidDatabase();
  const { run } = database;
  await run(LEASES);
  const store = await openPostgres({ url: database.url });
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
  readonly epoch?: number;
  /** Returns whether the database refuses writes. */
  readonly isBroken?: () => boolean;
  /** Replaces the way in which the database decides. */
  readonly spoil?: (decide: BooksDatabase['decide']) => BooksDatabase['decide'];
  /** Changes a deciding statement before it is sent. */
  readonly sent?: (text: string) => string;
  readonly timers?: Timers;
}

/** Opens the books of an instance. */
export async function openBooksOn(
  { store }: Pick<EmptyLedger, 'store'>,
  slot = 1,
  {
    epoch = 1,
    isBroken = () => false,
    spoil = (decide) => decide,
    sent = (text) => text,
    timers = processTimers,
  }: StagedBooks = {},
) {
  const open = async () => {
    const connection = await store.open();
    const run = connection.run.bind(connection);
    return Object.assign(connection, { run: (text, values) => run(sent(text), values) } satisfies Partial<Connection>);
  };
  const database = new DecidingDatabase(store.deciding().query, open, new PostgresDialect());
  const decide: BooksDatabase['decide'] = (...asked) =>
    isBroken() ? Promise.reject(new StoreError('disk full')) : database.decide(...asked);
  const clock = () => performance.now();
  /** A test may raise the epoch: the process then takes another name. */
  const instance = { slot, epoch };
  const books = await openPostgresBooks({
    db: { query: database.query, decide: spoil(decide) },
    timers,
    clock,
    instance,
  });
  const close = async () => {
    books.close();
    await database.close();
  };
  return { books, instance, close, [Symbol.asyncDispose]: close };
}

/** A database for books, which tests use one after another. */
let shared: ReturnType<typeof openShared> | null = null;

async function openShared() {
  const ledger = await emptyLedger();
  const connection = await Connection.open(addressOf(ledger.url));
  const script = `${await emptiedBy(connection)};\n${LEASES}`;
  return { ledger, empty: () => connection.script(script) };
}

/**
 * Combines the books of several instances: calls go to them in turn. All instances read a result before the call returns, because tests
 * read figures at once.
 */
function inTurn(all: readonly LedgerBooks[]): LedgerBooks {
  let turn = 0;
  /** The instance that made each earmark; only this instance may capture it. */
  const earmarking = new Map<number, LedgerBooks>();
  const any = (): LedgerBooks => all[turn++ % all.length]!;
  const next = (ops: readonly LedgerOp[]): LedgerBooks => {
    const [first] = ops;
    const books = (first?.kind === 'capture' && earmarking.get(first.id)) || any();
    for (const op of ops) if (op.kind === 'earmark') earmarking.set(op.id, books);
    return books;
  };
  const read = async <T>(answer: Promise<T>): Promise<T> => {
    const told = await answer;
    await Promise.all(all.map((books) => books.refresh()));
    return told;
  };
  const own: Pick<LedgerBooks, 'apply' | 'append' | 'standing' | 'watch' | 'written'> = {
    apply: (ops, also) => read(next(ops).apply(ops, also)),
    append: (ops, follow) => read(next(ops).append(ops, follow)),
    // An instance that enforces no budget knows only the funds that it has drawn on.
    standing: (funds) =>
      funds.flatMap(
        (fund) => all.flatMap((books) => books.standing([fund])).sort((a, b) => a.ageMs - b.ageMs)[0] ?? [],
      ),
    watch: (watcher) => all.forEach((books) => void books.watch(watcher)),
    written: async () => (await read(Promise.all(all.map((books) => books.written())))).every(Boolean),
  };
  return through(
    either(all, () => turn++ % all.length),
    { own, read: (answer) => answer },
  );
}

/** Returns the shared database, emptied. */
export async function sharedLedger() {
  shared ??= openShared();
  const { ledger, empty } = await shared;
  await empty();
  return ledger;
}

/** Opens books with this many instances. */
async function booksInPostgres(instances: number): Promise<BooksUnderTest> {
  const ledger = await sharedLedger();
  let isBroken = false;
  const open = () =>
    Promise.all(
      Array.from({ length: instances }, (_, at) => openBooksOn(ledger, at + 1, { isBroken: () => isBroken })),
    );
  const asOne = (): LedgerBooks => (instances === 1 ? opened[0]!.books : inTurn(opened.map(({ books }) => books)));
  let opened = await open();
  const close = async () => {
    for (const { books, close } of opened) {
      await books.written();
      await close();
    }
  };
  return {
    books: asOne(),
    fails: (fails) => {
      isBroken = fails;
    },
    async reopened() {
      await close();
      opened = await open();
      return asOne();
    },
    [Symbol.asyncDispose]: close,
  };
}

export const ONE_IN_POSTGRES: TestedBooks = {
  name: 'books in PostgreSQL',
  ...{ open: () => booksInPostgres(1), instances: 1, isShared: true },
};
export const TWO_IN_POSTGRES: TestedBooks = {
  name: 'books in PostgreSQL, two instances',
  ...{ open: () => booksInPostgres(2), instances: 2, isShared: true },
};
