import type { Store, Write } from '../store.ts';

/** A value that a database column can hold. An array is stored as its bytes. */
export type SqlValue = string | number | bigint | Uint8Array | Float64Array | null;

/**
 * A parameter of a statement. An object supplies the values that a statement names, such as `$payer`, and may have further members. An
 * object with values must be the only parameter of its statement.
 */
export type SqlParam = SqlValue | { readonly [name: string]: SqlValue };

/** A statement of a repository. The store prepares each text once. */
export interface Statement {
  readonly sql: string;
  /** The text for PostgreSQL if it differs; '' if PostgreSQL has nothing to do. */
  readonly inPostgres?: string;
  /**
   * The name under which the statement's appended writes go to the spool while the database refuses them. Without a name, the writes wait
   * in memory and are lost with the process. The values must be numbers, texts or null. The name of a statement must never change, because
   * the next version of Signalbox reads the name, too.
   */
  readonly spooledAs?: string;
  /** For conditional writes: whether the commit fails with the reason `unmet` if the statement changes or selects no row. */
  readonly mustChange?: boolean;
  /**
   * Whether the statement's condition depends on rows that it does not change. Writers whose statement depends on other rows must run one
   * after the other.
   */
  readonly takesTurns?: boolean;
  /**
   * Whether, in PostgreSQL, the statement accepts an array for each value. All rows of such a statement in a transaction are written by a
   * single statement, at the position of the first row. An array statement is meant for rows that each request adds and that no other write
   * of the transaction reads.
   */
  readonly takesRows?: boolean;
}

export const sql = (text: string, options?: Omit<Statement, 'sql'>): Statement => ({
  sql: text,
  ...options,
});

/** A row that a statement returns. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * Steps of a commit that depend on rows selected by earlier steps. Each step runs in the commit's transaction, and the rows of a step are
 * passed back to the script.
 */
export type SqlScript = Generator<SqlWrite, void, readonly SqlRow[]>;

/** The only kind of write that SQL stores create and accept. */
export interface SqlWrite extends Write {
  readonly statement: Statement;
  readonly params: readonly SqlParam[];
  /**
   * A function that makes further writes in the same transaction, depending on the rows that the statement selected. It is meant for writes
   * that SQL cannot express, such as a chain of hashes. The store does not call the function if the statement selected no row, and may call
   * it again if the commit is retried.
   */
  readonly follow?: (rows: readonly SqlRow[]) => SqlScript;
}

/** The clock of the PostgreSQL server, which all instances share, in ms since 1970. This clock advances within a transaction. */
export const POSTGRES_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

export const write = (statement: Statement, ...params: readonly SqlParam[]): SqlWrite => ({ statement, params });

export interface SqlReader {
  /** Reads the committed rows that a statement selects. Rejects with StoreError. */
  query<Row>(statement: Statement, params?: readonly SqlValue[]): Promise<Row[]>;
}

/** @returns the first row; null for none */
export async function first<Row>(db: SqlReader, statement: Statement, ...params: SqlValue[]): Promise<Row | null> {
  const [row] = await db.query<Row>(statement, params);
  return row ?? null;
}

/** The part of a store that repositories need. */
export type SqlTables = SqlReader & Pick<Store, 'commit'>;
