import { setImmediate } from 'node:timers/promises';

/** Rows that are read at once. Some have long texts. */
const BATCH = 64;

/**
 * Reads rows as they are needed, so that a reader who stops early leaves the rest unread.
 * @param read returns at most `limit` rows after a row, or the first rows
 */
export async function* inBatches<Row>(
  read: (last: Row | null, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void> {
  for (let last: Row | null = null; ; ) {
    const rows: readonly Row[] = await read(last, BATCH);
    yield* rows;
    if (rows.length < BATCH) return;
    last = rows.at(-1) ?? null;
    // Requests are served between batches.
    await setImmediate();
  }
}
