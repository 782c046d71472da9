import { first, type SqlTables, type SqlWrite, type Statement, write } from './statement.ts';

/** A deletion of the rows of a table up to a bound. */
export interface BatchDeletion {
  readonly table: string;
  /** The primary key. */
  readonly key: string;
  /** The column that the bound is compared with; the rows with the least values go first. */
  readonly by: string;
  readonly comparison: '<' | '<=';
  /** A condition that rows meet beside; absent: none. */
  readonly only?: string;
  /** Rows in one transaction at most, so that a long deletion does not delay requests. */
  readonly batch: number;
  /** Writes before and after each deletion, in its transaction. */
  readonly around?: readonly [before: SqlWrite, after: SqlWrite];
}

/**
 * @returns a function that deletes the rows up to a bound, in transactions of a batch each, and returns their number. It
 * rejects with StoreError; whole batches may have been deleted by then.
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
