import type { Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { GroupCommit } from '../group-commit.ts';
import type { SqlTables, SqlValue, SqlWrite, Statement } from '../sql/statement.ts';
import type { Deferral, Store, StoreError } from '../store.ts';
import { addressOf, placeOf } from './address.ts';
import { DecidingDatabase } from './books/database.ts';
import { Connection } from './connection.ts';
import { PostgresDialect, valuesOf } from './dialect.ts';
import { unusableFor } from './fault.ts';
import { requireSchema, schemaOf } from './migrate.ts';
import { PostgresReaders } from './readers.ts';
import { requireSafety, requireSession } from './safety.ts';
import { SCHEMA } from './schema/versions.ts';
import type { LeaseCheck } from './transaction.ts';
import { PostgresWriter } from './writer.ts';

/** How many connections one process uses for reads. */
const READERS = 4;

export interface PostgresOptions {
  readonly url: string;
  /** A function that is called with appends that were lost, and once when the database starts to fail. */
  readonly onError?: (error: StoreError) => void;
  readonly timers?: Timers;
  /** How long callers wait for the outcome of a commit, as `doubtMs` of `WriterOptions`. */
  readonly doubtMs?: number;
}

/**
 * Opens a database, and checks that its tables are up to date.
 * @throws StoreError of one sentence, by rejecting
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const store = handleOf(options);
  const connection = await store.open();
  try {
    await requireSession(connection, store.open);
    await requireSafety(connection);
    requireSchema(await schemaOf(connection), SCHEMA);
  } catch (cause) {
    throw unusableFor(placeOf(options.url), cause);
  } finally {
    await connection.close();
  }
  return store;
}

/** Returns a store without checking the database. It opens connections when they are needed. */
export function handleOf(options: PostgresOptions): PostgresStore {
  const address = addressOf(options.url);
  return new PostgresStore(() => Connection.open(address), options);
}

/** The store of a process in a PostgreSQL database. */
export class PostgresStore extends GroupCommit<SqlWrite> implements Store, Deferral, SqlTables {
  /** Opens an additional connection, for example for notifications. */
  readonly open: () => Promise<Connection>;
  /** The lease that each commit checks. Null for a command, because a command is no instance. */
  fence: LeaseCheck | null = null;
  /** The books of this process; null if they are not open. */
  books: { readonly unkept: number } | null = null;
  /** The number of connections that could not be opened, for the metrics of this process. */
  failedConnections = 0;
  readonly #dialect: PostgresDialect;
  readonly #readers: PostgresReaders;
  readonly #writer: PostgresWriter;

  constructor(open: () => Promise<Connection>, options: PostgresOptions) {
    const { onError = () => {}, timers = processTimers, doubtMs } = options;
    const dialect = new PostgresDialect();
    const writer = new PostgresWriter({
      dialect,
      onError,
      timers,
      doubtMs,
      open: () => this.open(),
      fence: () => this.fence,
      onDoubt: () => this.stopWaiting(),
    });
    super(writer, timers);
    this.#dialect = dialect;
    this.#writer = writer;
    this.open = () =>
      open().catch((cause: unknown) => {
        this.failedConnections++;
        throw cause;
      });
    this.#readers = new PostgresReaders(this.open, READERS);
  }

  /**
   * The number of unsafe writes counts only settlements, which are in the books, because records and other appended writes may be lost with
   * the process.
   */
  get unkept(): number {
    return this.books?.unkept ?? 0;
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    return this.#readers.read<Row>(translated.text, valuesOf(translated, params));
  }

  /**
   * Opens a connection of its own for the books, on which groups of operations are decided.
   * @param check rejects if the database is not the one that this process used before
   */
  deciding(check = async () => {}): DecidingDatabase {
    const open = async () => {
      const connection = await this.open();
      return check().then(
        () => connection,
        (cause) => connection.close().then(() => Promise.reject(cause)),
      );
    };
    return new DecidingDatabase((text, values) => this.#readers.read(text, values), open, this.#dialect);
  }

  override async close(): Promise<void> {
    try {
      await super.close();
    } finally {
      await this.#writer.close();
      await this.#readers.close();
    }
  }
}
