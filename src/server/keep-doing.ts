import type { Timers } from '../core/time/timers.ts';

/**
 * Calls a function at once and then at an interval, one call at a time. After a failed call, the next one tries again. The timer does not
 * keep the process alive.
 * @returns a function that stops the calls; it resolves once no call is in progress
 */
export async function keepDoing(
  work: () => Promise<void>,
  everyMs: number,
  timers: Timers,
): Promise<() => Promise<void>> {
  const run = (): Promise<void> => work().catch(() => {});
  await run();
  let running: Promise<void> | null = null;
  const timer = timers.every(everyMs, () => {
    running ??= run().finally(() => {
      running = null;
    });
  });
  timer.unref();
  return async () => {
    timer.close();
    await running;
  };
}
