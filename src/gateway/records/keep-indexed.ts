import type { Timer, Timers } from '../../core/time/timers.ts';

/** The pause between batches while records are left, ms. Requests are served during the pause. */
const PAUSE_MS = 25;
/**
 * The pause while everything is indexed and counted, ms. Readers also read records after the end of the index, and a query for traffic
 * first counts the rest, so this pause only limits how much readers must read beyond the index. Each batch reads and writes each bucket
 * once, so many small batches would cost more than a few large ones.
 */
const IDLE_MS = 2_000;

/**
 * How many batches old records wait for before they are deleted: half a second. Old records that are not counted within this time are
 * deleted by the next deletion.
 */
const AWAITED = 25;

/** Whether all records and entries are counted. */
export async function isCounted(count: () => Promise<boolean>): Promise<boolean> {
  for (let batches = 0; batches < AWAITED; batches++) if (!(await count())) return true;
  return false;
}

/**
 * Keeps the index of records and the buckets of traffic up to date in the background, one batch at a time. State: record index.
 * @param count runs a batch; resolves with whether any record is left
 * @param onError receives errors of the store; after an error, the batch is tried again
 * @returns stops the work
 */
export function keepIndexed(
  count: () => Promise<boolean>,
  timers: Timers,
  onError: (error: unknown) => void,
): () => void {
  let timer: Timer;
  let isStopped = false;
  const run = async () => {
    const isLeft = await count().catch((error: unknown) => {
      onError(error);
      return false;
    });
    if (!isStopped) schedule(isLeft ? PAUSE_MS : IDLE_MS);
  };
  const schedule = (ms: number) => {
    timer = timers.after(ms, () => void run());
    timer.unref();
  };
  schedule(PAUSE_MS);
  return () => {
    isStopped = true;
    timer.close();
  };
}
