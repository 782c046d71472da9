import { setImmediate } from 'node:timers/promises';

/** Rows to read at once. The number is small because some rows have long texts. */
const BATCH = 64;

/**
 * Reads rows in batches as the caller consumes them: a caller that stops early reads no further batch.
 * @param read returns at most `limit` rows after the given row, or the first rows
 */
export async function* inBatches<Row>(
  read: (last: Row | null, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void> {
  for (let last: Row | null = null; ; ) {
    const rows: readonly Row[] = await read(last, BATCH);
    yield* rows;
    if (rows.length < BATCH) return;
    last = rows.at(-1) ?? null;
    // Gives the process a turn to serve requests between two batches.
    await setImmediate();
  }
}
