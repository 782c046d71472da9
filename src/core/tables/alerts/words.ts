import { DAY_MS, HOUR_MS, iso, MINUTE_MS } from '../../time/clock.ts';

/** The words that the sentences of alerts share. */

export const percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)} %`;
export const day = (timeMs: number): string => `${iso(timeMs).slice(0, 16).replace('T', ' ')} UTC`;
export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Formats a duration: `40 s`, `12 min`, `5 h`, `3 days`. */
export function lengthOf(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`;
}
