import type { Timers } from '../core/timers.ts';

/**
 * Runs some work at once and then at an interval, one run at a time. After a failed run, the next run tries again. The timer does not keep
 * the process alive.
 * @returns stops the work; resolves once no run is in progress
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
