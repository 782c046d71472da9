import type { WindowKind } from '../money/budget.ts';

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
 * Returns the calendar window that contains a moment, in a time zone (IANA name). Days begin at the first moment of the local date. The
 * first moment of a day is not midnight if a change of the clock skips midnight, and days have 23 to 25 hours. Weeks of budget windows
 * begin on Monday. `windowAt` throws RangeError for an unknown zone.
 */
export function windowAt(kind: WindowKind, timeZone: string, timeMs: number): Window {
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
