import type { Timers } from '../../core/timers.ts';

/** The timers of this process: those of a host, and of commands, which have none of their own. */
export const processTimers: Timers = {
  after: (ms, run) => setTimeout(run, ms),
  every: (ms, run) => setInterval(run, ms),
};
