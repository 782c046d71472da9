import type { Timers } from '../core/timers.ts';

/**
 * Does work at once and again every so often, one run at a time. A run that fails is left to the next one. It keeps no process alive.
 * @returns how to stop: it resolves once no run is under way.
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
