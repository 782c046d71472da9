import { MICROCREDITS } from './credits.ts';

/**
 * Callers see estimates rounded up, and can send ceilings on them. A ceiling is compared with the exact estimate, with a tolerance for
 * floating-point error. A displayed estimate that a caller sends back as a ceiling therefore admits the model. Only this file rounds
 * estimates for callers.
 */

/** The relative error of an estimate, which is a sum of doubles. A difference that is smaller than this relative error does not count. */
const SLACK = 1e-13;

/** Rounds expected Credits up to 6 decimals, ignoring floating-point error. */
export function shownCredits(credits: number): number {
  const micros = Math.ceil(credits * MICROCREDITS * (1 - SLACK));
  const shown = micros / MICROCREDITS;
  // The multiplication in this line may round down.
  return isAbove(credits, shown) ? (micros + 1) / MICROCREDITS : shown;
}

/** Rounds expected milliseconds up to whole milliseconds, ignoring floating-point error. */
export const shownMs = (ms: number): number => Math.ceil(ms * (1 - SLACK));

/** Whether an estimate exceeds a ceiling by more than floating-point error. @param ceiling null for none */
export const isAbove = (estimate: number, ceiling: number | null): boolean =>
  ceiling !== null && estimate * (1 - 2 * SLACK) > ceiling;
