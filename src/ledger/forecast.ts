import { QUARTER_MS, type Window } from '../core/accounting/window.ts';
import type { Forecast } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';

/** A forecast needs this share of the window to be over: three days of a month, 2.4 hours of a day. */
const KNOWN_FROM_SHARE = 0.1;

/** The length of the period that shows how fast money is spent now, ms. */
const RECENT_MS = 86_400_000;

/** The period whose charges are recent. It begins with a quarter of an hour, because the ledger sums charges by quarters. */
export const recentWindow = (now: number): Window => ({
  starts: Math.floor((now - RECENT_MS) / QUARTER_MS) * QUARTER_MS,
  ends: Number.POSITIVE_INFINITY,
});

/**
 * Forecasts how much will be spent by the end of a window. Two rates are extended to the end of the window, and the forecast is the larger
 * result:
 *
 *   the average of the window:  spent × length of the window / time elapsed
 *   the last 24 hours:          spent + recent × time left / 24 h
 *
 * The first formula is the run rate of cloud billing, "month to date ÷ days elapsed × days in the month". The second one notices late in a
 * month that spending has just risen. Both ignore weekends and trends. No forecast is made before a tenth of the window is over.
 *
 * @param spent microcredits spent so far minus refunds, without held money, because most of it is released
 * @param now ms since 1970. After the end of the window, no more spending is expected.
 * @param recent microcredits charged in the last 24 hours, also before the window began; null if not known
 */
export function forecastOf(
  spent: Microcredits,
  { starts, ends }: Window,
  now: number,
  recent: Microcredits | null = null,
): Forecast {
  if (!Number.isFinite(ends)) return NEVER;
  const length = ends - starts;
  const knownFrom = starts + Math.ceil(length * KNOWN_FROM_SHARE);
  if (now < knownFrom) return { expected: null, knownFrom };
  const at = Math.min(now, ends);
  const average = (spent * length) / (at - starts);
  const atRecentRate = spent + ((recent ?? 0) * (ends - at)) / RECENT_MS;
  return { expected: Math.round(Math.max(average, atRecentRate)), knownFrom };
}

/**
 * Computes when a budget is used up at the faster of the two rates of `forecastOf`. The result is in ms since 1970 and never before `now`.
 * @returns null if the budget is used up already, if the window ends first, or if it is too early for a forecast
 */
export function runsOutAt(
  spent: Microcredits,
  limit: Microcredits,
  window: Window,
  now: number,
  recent: Microcredits | null = null,
): number | null {
  const { starts, ends } = window;
  const { expected } = forecastOf(spent, window, now, recent);
  if (expected === null || spent <= 0 || isUsedUp(spent, limit)) return null;
  const last = Math.min(now, ends);
  const byAverage = starts + ((last - starts) * limit) / spent;
  const byRecentRate = recent ? last + ((limit - spent) * RECENT_MS) / recent : Number.POSITIVE_INFINITY;
  const at = Math.round(Math.min(byAverage, byRecentRate));
  return at < ends ? at : null;
}

const NEVER: Forecast = Object.freeze({ expected: null, knownFrom: null });

/** Whether nothing is left of a budget, without held money. */
export const isUsedUp = (spent: Microcredits, limit: Microcredits): boolean => spent >= limit;
