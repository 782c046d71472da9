import type { Window } from '../core/accounting/window.ts';
import type { Forecast } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';

/** A forecast is made from this share of the window on: of a month three days, of a day 2.4 hours. */
const KNOWN_FROM_SHARE = 0.1;

/**
 * Forecasts the sum that will be spent at the end of a window: the rate so far, for all of the window,
 *
 *   expected = spent × length of the window / time elapsed,
 *
 * the run rate of cloud billing, "month to date ÷ days elapsed × days in the month". It knows no weekend and no trend, so it is too
 * early to say before a tenth of the window has passed.
 *
 * @param spent microcredits so far, less refunds; without what is held, most of which is released
 * @param now ms since 1970. After the window's end nothing more is expected
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
 * When a budget is spent at the rate so far, ms since 1970: now or before where it is; null where that is not before the window ends, or
 * before it can be said.
 */
export function runsOutAt(spent: Microcredits, limit: Microcredits, window: Window, now: number): number | null {
  const { starts, ends } = window;
  const { expected } = forecastOf(spent, window, now);
  if (!Number.isFinite(ends) || spent <= 0 || (expected === null && spent < limit)) return null;
  const at = Math.round(starts + ((Math.min(now, ends) - starts) * limit) / spent);
  return at < ends ? at : null;
}

const NEVER: Forecast = Object.freeze({ expected: null, knownFrom: null });
