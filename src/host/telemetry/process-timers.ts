import type { Timers } from '../../core/time/timers.ts';

/** The timers of this process. The host uses these timers, and so do commands, which have no other timers. */
export const processTimers: Timers = {
  after: (ms, run) => setTimeout(run, ms),
  every: (ms, run) => setInterval(run, ms),
};
