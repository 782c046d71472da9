import type { Statement, Store, Write } from '../store.ts';

export interface BatchDeletion {
  /** Counts rows to delete, as `n`. Parameters: limit, batch. */
  readonly count: Statement;
  /** Deletes them, the first first. Parameters: limit, batch. */
  readonly deletion: Statement;
  /** Rows in one transaction at most, so that a long deletion does not delay requests. */
  readonly batch: number;
  /** Writes before and after each deletion, in its transaction. */
  readonly around?: readonly [before: Write, after: Write];
}

/**
 * Deletes rows in transactions of a batch each.
 * @param limit the bound that both statements compare with: an ID or a time.
 * @returns the number of rows deleted.
 * @throws StoreError; whole batches may have been deleted by then.
 */
export async function deleteInBatches(
  db: Pick<Store, 'query' | 'commit'>,
  { count, deletion, batch, around }: BatchDeletion,
  limit: number,
): Promise<number> {
  for (let deleted = 0; ; ) {
    const [found] = await db.query<{ n: number }>(count, [limit, batch]);
    if (!found?.n) return deleted;
    const write = { statement: deletion, params: [limit, batch] };
    await db.commit(around ? [around[0], write, around[1]] : [write]);
    deleted += found.n;
  }
}
