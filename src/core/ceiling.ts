import { MICROCREDITS } from './credits.ts';

/**
 * Estimates as callers see them, and the ceilings that callers make of them. An estimate is shown rounded up, never
 * down, and a ceiling is compared with the estimate itself, but for the last bits of a sum: so a figure that was shown,
 * given back as a ceiling, admits the model that it was shown for. Nothing else rounds an estimate.
 */

/** An estimate is a sum of doubles, exact to about this share of itself: by less than that it is above nothing. */
const SLACK = 1e-13;

/** Expected Credits with at most 6 decimals, never below what they were but for the last bits of a sum. */
export function shownCredits(credits: number): number {
  const micros = Math.ceil(credits * MICROCREDITS * (1 - SLACK));
  const shown = micros / MICROCREDITS;
  // A double may round the product down.
  return isAbove(credits, shown) ? (micros + 1) / MICROCREDITS : shown;
}

/** Expected milliseconds, whole, never below what they were but for the last bits of a sum. */
export const shownMs = (ms: number): number => Math.ceil(ms * (1 - SLACK));

/** Whether an estimate exceeds a ceiling by more than the last bits of a sum; null is no ceiling. */
export const isAbove = (estimate: number, ceiling: number | null): boolean =>
  ceiling !== null && estimate * (1 - 2 * SLACK) > ceiling;
