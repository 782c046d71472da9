import type { Budget, CalendarWindow } from '../money/budget.ts';

/** The ledger keeps totals per quarter of an hour, because windows begin on a quarter hour in every time zone. */
export const QUARTER_MS = 900_000;

export const quarterOf = (timeMs: number): number => Math.floor(timeMs / QUARTER_MS);

/** A period in ms since 1970: `starts` is inclusive, `ends` exclusive. `ends` is Infinity for a window that never ends. */
export interface Window {
  readonly starts: number;
  readonly ends: number;
}

const ALWAYS: Window = Object.freeze({ starts: 0, ends: Number.POSITIVE_INFINITY });

/**
 * Returns the window of a budget that contains a moment. Each moment is in exactly one window, and each window begins when the one before it
 * ends.
 */
export function windowOf(
  { window, every, timeZone }: Pick<Budget, 'window' | 'every' | 'timeZone'>,
  timeMs: number,
): Window {
  if (window !== 'every') return windowAt(window, timeZone, timeMs);
  if (!every) throw new RangeError('a budget with the window `every` needs a length');
  const { seconds, from } = every;
  const lengthMs = seconds * 1_000;
  const starts = from + Math.floor((timeMs - from) / lengthMs) * lengthMs;
  return { starts, ends: starts + lengthMs };
}

/**
 * Returns the calendar window that contains a moment, in a time zone (IANA name). Days begin at the first moment of the local date. The
 * first moment of a day is not midnight if a change of the clock skips midnight, and days have 23 to 25 hours. Weeks of budget windows
 * begin on Monday. `windowAt` throws RangeError for an unknown zone.
 */
export function windowAt(kind: CalendarWindow, timeZone: string, timeMs: number): Window {
  if (kind === 'total') return ALWAYS;
  const date = Temporal.Instant.fromEpochMilliseconds(timeMs).toZonedDateTimeISO(timeZone).toPlainDate();
  const [first, next] = datesOf(kind, date);
  return { starts: beginningOf(first, timeZone), ends: beginningOf(next, timeZone) };
}

/** Returns the first date of the window that contains a date, and the first date of the next window. */
function datesOf(kind: 'day' | 'week' | 'month', date: Temporal.PlainDate): [Temporal.PlainDate, Temporal.PlainDate] {
  if (kind === 'day') return [date, date.add({ days: 1 })];
  if (kind === 'week') {
    const monday = date.subtract({ days: date.dayOfWeek - 1 });
    return [monday, monday.add({ weeks: 1 })];
  }
  const first = date.with({ day: 1 });
  return [first, first.add({ months: 1 })];
}

const beginningOf = (date: Temporal.PlainDate, timeZone: string): number =>
  date.toZonedDateTime({ timeZone }).epochMilliseconds;
