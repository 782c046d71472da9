import { MICROCREDITS } from './credits.ts';

/**
 * Estimates as callers see them, and the ceilings that callers make of them. An estimate is shown rounded up, never
 * down, and a ceiling is compared with the estimate as it is: so a figure that was shown, given back as a ceiling,
 * admits the model that it was shown for. Nothing else rounds an estimate.
 */

/** Expected Credits with at most 6 decimals, never below what they were. */
export function shownCredits(credits: number): number {
  const micros = Math.ceil(credits * MICROCREDITS);
  const shown = micros / MICROCREDITS;
  // A double may round the product down.
  return shown < credits ? (micros + 1) / MICROCREDITS : shown;
}

/** Expected milliseconds, whole, never below what they were. */
export const shownMs = (ms: number): number => Math.ceil(ms);

/** Whether an estimate exceeds a ceiling; null is no ceiling. */
export const isAbove = (estimate: number, ceiling: number | null): boolean => ceiling !== null && estimate > ceiling;
