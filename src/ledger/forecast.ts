import type { Window } from '../core/accounting/window.ts';
import type { Forecast } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';

/** A forecast needs this share of the window to be over: three days of a month, 2.4 hours of a day. */
const KNOWN_FROM_SHARE = 0.1;

/**
 * Forecasts how much will be spent by the end of a window, if spending continues at the average rate so far:
 *
 *   expected = spent × length of the window / time elapsed
 *
 * This formula is the run rate of cloud billing, "month to date ÷ days elapsed × days in the month". The formula ignores weekends and
 * trends. No forecast is made before a tenth of the window is over.
 *
 * @param spent microcredits spent so far minus refunds, without held money, because most of it is released
 * @param now ms since 1970. After the end of the window, no more spending is expected.
 */
export function forecastOf(spent: Microcredits, { starts, ends }: Window, now: number): Forecast {
  if (!Number.isFinite(ends)) return NEVER;
  const length = ends - starts;
  const knownFrom = starts + Math.ceil(length * KNOWN_FROM_SHARE);
  if (now < knownFrom) return { expected: null, knownFrom };
  const elapsed = Math.min(now, ends) - starts;
  return { expected: Math.round((spent * length) / elapsed), knownFrom };
}

/**
 * Computes when a budget is used up if spending continues at the average rate so far. The result is in ms since 1970, and is `now` or
 * earlier if the budget is already used up.
 * @returns null if the window ends first, or if it is too early for a forecast
 */
export function runsOutAt(spent: Microcredits, limit: Microcredits, window: Window, now: number): number | null {
  const { starts, ends } = window;
  const { expected } = forecastOf(spent, window, now);
  if (!Number.isFinite(ends) || spent <= 0 || (expected === null && spent < limit)) return null;
  const at = Math.round(starts + ((Math.min(now, ends) - starts) * limit) / spent);
  return at < ends ? at : null;
}

const NEVER: Forecast = Object.freeze({ expected: null, knownFrom: null });
