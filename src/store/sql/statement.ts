import type { Store, Write } from '../store.ts';

/** A value that a database column can hold; of an array, its bytes. */
export type SqlValue = string | number | bigint | Uint8Array | Float64Array | null;

/** A row gives the values that a statement names, as `$payer`, and may have others. It is the only parameter of its statement. */
export type SqlParam = SqlValue | { readonly [name: string]: SqlValue };

/** A statement of a repository. The store prepares each text once. */
export interface Statement {
  readonly sql: string;
  /** For PostgreSQL, where its words differ; '' where it has nothing to do. */
  readonly inPostgres?: string;
  /**
   * The name under which its appended writes go into the spool while the database refuses them; absent: they wait in memory and
   * are lost with the process. Their values must be numbers, texts or null. Never changed: the next version reads it, too.
   */
  readonly spooledAs?: string;
  /** Whether a run that changes or selects no row fails its commit, with the reason `unmet`: for conditional writes. */
  readonly mustChange?: boolean;
  /** Whether its condition looks at other rows than its own, so that writers have to take turns. */
  readonly takesTurns?: boolean;
  /**
   * Whether it takes an array for each value in PostgreSQL, so that the rows of a transaction go as one statement, where the first of
   * them stands: for rows that each request adds, which no other write of their transaction looks at.
   */
  readonly takesRows?: boolean;
}

export const sql = (text: string, options?: Omit<Statement, 'sql'>): Statement => ({
  sql: text,
  ...options,
});

/** A row as a statement returns it. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** Steps of a commit that go by what the ones before have selected: each is done, and answered with its rows, in its transaction. */
export type SqlScript = Generator<SqlWrite, void, readonly SqlRow[]>;

/** The one kind of write that a store of SQL makes and takes. */
export interface SqlWrite extends Write {
  readonly statement: Statement;
  readonly params: readonly SqlParam[];
  /**
   * Writes, in the same transaction, by the rows that the statement has selected; not called for none. For writes that SQL cannot
   * express, such as a chain of hashes. It may be called again for a commit that is tried again.
   */
  readonly follow?: (rows: readonly SqlRow[]) => SqlScript;
}

/** The clock of a PostgreSQL, which is that of all instances, ms since 1970. Within a transaction it goes on. */
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
