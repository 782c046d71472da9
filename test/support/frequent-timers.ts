import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';

/** Returns timers whose repeated work runs this many times as often; single waits take their usual time. */
export const frequentTimers = (times: number): Timers => ({
  ...processTimers,
  every: (ms, run) => processTimers.every(ms / times, run),
});
