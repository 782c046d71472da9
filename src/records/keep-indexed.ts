import type { Timer, Timers } from '../core/timers.ts';
import type { RecordLog } from '../store/records.ts';

/** Between batches while records are left, ms: requests are served meanwhile. */
const PAUSE_MS = 25;
/** While all are indexed, ms. Reading looks behind the index, so this only bounds how much. */
const IDLE_MS = 2_000;

/**
 * Keeps the index of records up to date in the background, one batch at a time. State: record index.
 * @param onError receives errors of the store; the batch is tried again
 * @returns stops it
 */
export function keepIndexed(
  log: Pick<RecordLog, 'index'>,
  timers: Timers,
  onError: (error: unknown) => void,
): () => void {
  let timer: Timer;
  let isStopped = false;
  const run = async () => {
    const isLeft = await log.index().catch((error: unknown) => {
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
