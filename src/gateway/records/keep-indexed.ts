import type { Timer, Timers } from '../../core/timers.ts';

/** Between batches while records are left, ms: requests are served meanwhile. */
const PAUSE_MS = 25;
/**
 * While all are indexed and counted, ms. Reading looks behind the index, and a question for traffic counts first, so this only bounds
 * how much. Each batch reads and writes each bucket once, however many requests it adds, so that a few at a time would cost most.
 */
const IDLE_MS = 2_000;

/** Batches at most that old records wait for before they are deleted: half a second. The rest is left to the next time. */
const AWAITED = 25;

/** Whether all records and entries are counted by now. */
export async function isCounted(count: () => Promise<boolean>): Promise<boolean> {
  for (let batches = 0; batches < AWAITED; batches++) if (!(await count())) return true;
  return false;
}

/**
 * Keeps the index of records and the buckets of traffic up to date in the background, one batch at a time. State: record index.
 * @param count does a batch; resolves with whether any is left
 * @param onError receives errors of the store; the batch is tried again
 * @returns stops it
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
