import type { Timers } from '../../core/timers.ts';
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

/** Connections for reading, of one process. */
const READERS = 4;

export interface PostgresOptions {
  readonly url: string;
  /** Called with appends that were lost, and once when the database begins to fail. */
  readonly onError?: (error: StoreError) => void;
  readonly timers?: Timers;
  /** As that of the writer. */
  readonly doubtMs?: number;
}

/**
 * Opens a database whose tables are up to date.
 * @throws StoreError of one sentence, by rejecting
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const store = handleOf(options);
  const connection = await store.open();
  try {
    await requireSession(connection, store.open);
    await requireSafety(connection);
    requireSchema(await schemaOf(connection), SCHEMA.length);
  } catch (cause) {
    throw unusableFor(placeOf(options.url), cause);
  } finally {
    await connection.close();
  }
  return store;
}

/** A handle of a database that was looked at. It opens connections when it needs them. */
export function handleOf(options: PostgresOptions): PostgresStore {
  const address = addressOf(options.url);
  return new PostgresStore(() => Connection.open(address), options);
}

/** One handle of a database. */
export class PostgresStore extends GroupCommit<SqlWrite> implements Store, Deferral, SqlTables {
  /** Opens one more connection, such as that for messages. */
  readonly open: () => Promise<Connection>;
  /** Stated by each commit; null for a command, which is no instance. */
  fence: LeaseCheck | null = null;
  /** Null where it has none. */
  books: { readonly unkept: number } | null = null;
  /** Of the whole process: its handle counts. */
  failedConnections = 0;
  readonly #dialect: PostgresDialect;
  readonly #readers: PostgresReaders;
  readonly #writer: PostgresWriter;

  constructor(open: () => Promise<Connection>, options: PostgresOptions) {
    const { onError = () => {}, timers = processTimers, doubtMs } = options;
    const dialect = new PostgresDialect();
    const writer = new PostgresWriter({
      ...{ dialect, onError, timers, doubtMs },
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

  /** Records and the like may be lost with the process: settlements are the books' alone. */
  get unkept(): number {
    return this.books?.unkept ?? 0;
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    return this.#readers.read<Row>(translated.text, valuesOf(translated, params));
  }

  /**
   * For books: a connection of their own, on which groups of operations are decided.
   * @param check rejects where another database may be in the place of the one before
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
