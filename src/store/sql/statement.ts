import type { Store, Write } from '../store.ts';

/** A value that a database column can hold. An array is stored as its bytes. */
export type SqlValue = string | number | bigint | Uint8Array | Float64Array | null;

/**
 * A parameter. An object supplies the values that a statement names, such as `$payer`, and may have further members. It must be the only
 * parameter of its statement.
 */
export type SqlParam = SqlValue | { readonly [name: string]: SqlValue };

/** A statement of a repository. The store prepares each text once. */
export interface Statement {
  readonly sql: string;
  /** The text for PostgreSQL if it differs; '' if PostgreSQL has nothing to do. */
  readonly inPostgres?: string;
  /**
   * The name under which the statement's appended writes go to the spool while the database refuses them. Absent: they wait in memory and
   * are lost with the process. The values must be numbers, texts or null. Never change the name, because the next version reads it, too.
   */
  readonly spooledAs?: string;
  /** For conditional writes: whether the commit fails with the reason `unmet` if the statement changes or selects no row. */
  readonly mustChange?: boolean;
  /** Whether the statement's condition depends on rows that it does not change. Writers must then run one after the other. */
  readonly takesTurns?: boolean;
  /**
   * Whether, in PostgreSQL, the statement takes an array for each value. All its rows of a transaction are then written by one statement,
   * at the position of the first row. Use it for rows that each request adds and that no other write of the transaction reads.
   */
  readonly takesRows?: boolean;
}

export const sql = (text: string, options?: Omit<Statement, 'sql'>): Statement => ({
  sql: text,
  ...options,
});

/** A row as a statement returns it. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * Steps of a commit that depend on rows selected by earlier steps. Each step runs in the commit's transaction, and its rows are passed
 * back.
 */
export type SqlScript = Generator<SqlWrite, void, readonly SqlRow[]>;

/** The one kind of write that SQL stores create and accept. */
export interface SqlWrite extends Write {
  readonly statement: Statement;
  readonly params: readonly SqlParam[];
  /**
   * Further writes in the same transaction, depending on the rows that the statement selected. Not called if it selected none. Use it for
   * writes that SQL cannot express, such as a chain of hashes. It may be called again if the commit is retried.
   */
  readonly follow?: (rows: readonly SqlRow[]) => SqlScript;
}

/** The clock of the PostgreSQL server, which all instances share, in ms since 1970. It advances within a transaction. */
export const POSTGRES_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

export const write = (statement: Statement, ...params: readonly SqlParam[]): SqlWrite => ({ statement, params });

export interface SqlReader {
  /** Reads committed rows. Rejects with StoreError. */
  query<Row>(statement: Statement, params?: readonly SqlValue[]): Promise<Row[]>;
}

/** @returns the first row; null for none */
export async function first<Row>(db: SqlReader, statement: Statement, ...params: SqlValue[]): Promise<Row | null> {
  const [row] = await db.query<Row>(statement, params);
  return row ?? null;
}

/** The part of a store that repositories need. */
export type SqlTables = SqlReader & Pick<Store, 'commit'>;
