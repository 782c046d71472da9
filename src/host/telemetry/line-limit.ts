import { MINUTE_MS } from '../../core/time/clock.ts';

/** Returns how many lines were suppressed since the last line that passed; null if the line at `now` ms is suppressed, too. */
export type LineLimit = (now: number) => number | null;

/**
 * Limits the log lines of one kind in a minute, so that many such lines do not hide the other lines.
 * @param max lines per minute
 */
export function lineLimit(max: number): LineLimit {
  let since = Number.NEGATIVE_INFINITY;
  let passed = 0;
  let suppressed = 0;
  return (now) => {
    if (now - since >= MINUTE_MS) {
      since = now;
      passed = 0;
    }
    if (passed >= max) {
      suppressed++;
      return null;
    }
    passed++;
    const before = suppressed;
    suppressed = 0;
    return before;
  };
}
