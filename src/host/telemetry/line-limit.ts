import { MINUTE_MS } from '../../core/clock.ts';

/** Gives the number of lines suppressed since the last one that passed; null if this one, at `now` ms, is suppressed, too. */
export type LineLimit = (now: number) => number | null;

/**
 * Limits the lines of one kind per minute, so that a flood of them does not drown the others.
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
