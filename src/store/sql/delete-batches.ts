import { first, type SqlTables, type SqlWrite, type Statement, write } from './statement.ts';

/** A deletion of the rows of a table up to a bound. */
export interface BatchDeletion {
  readonly table: string;
  /** The table's primary key. */
  readonly key: string;
  /** The column to compare with the bound. Rows with the smallest values are deleted first. */
  readonly by: string;
  readonly comparison: '<' | '<=';
  /** A further condition that deleted rows satisfy; absent if there is no such condition. */
  readonly only?: string;
  /** The most rows that one transaction deletes. The number is limited so that a long deletion does not delay requests. */
  readonly batch: number;
  /** Writes before and after each deletion, in the same transaction. */
  readonly around?: readonly [before: SqlWrite, after: SqlWrite];
}

/**
 * @returns a function that deletes the rows up to a bound, one batch in each transaction, and returns the number of deleted rows. It
 * rejects with StoreError; some batches may already have been deleted.
 */
export function batchDeletion({ table, key, by, comparison, only, batch, around }: BatchDeletion) {
  const rows = `FROM ${table} WHERE ${by} ${comparison} ?${only ? ` AND ${only}` : ''}`;
  const count: Statement = { sql: `SELECT count(*) AS n FROM (SELECT 1 ${rows} LIMIT ?) AS batch` };
  const deletion: Statement = {
    sql: `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} ${rows} ORDER BY ${by} LIMIT ?)`,
  };
  return async (db: SqlTables, bound: number): Promise<number> => {
    for (let deleted = 0; ; ) {
      const found = await first<{ n: number }>(db, count, bound, batch);
      if (!found?.n) return deleted;
      const batchWrite = write(deletion, bound, batch);
      await db.commit(around ? [around[0], batchWrite, around[1]] : [batchWrite]);
      deleted += found.n;
    }
  };
}
