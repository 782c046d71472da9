import { MINUTE_MS } from '../../time/clock.ts';
import { type FactsOf, type FactTable, factReader } from './define.ts';

/** The local time that `when` of a rule can use, in the policy's `time_zone`. */
export const TIME_FACTS = {
  year: { type: 'double', means: 'The year, such as 2026.', empty: 2026, read: ({ year }) => year },
  month: { type: 'double', means: 'The month, 1 to 12.', empty: 10, read: ({ month }) => month, range: [1, 12] },
  day: { type: 'double', means: 'The day of the month, 1 to 31.', empty: 7, read: ({ day }) => day, range: [1, 31] },
  weekday: {
    type: 'double',
    means: 'The day of the week: 1 is Monday, 7 is Sunday.',
    empty: 3,
    read: ({ dayOfWeek }) => dayOfWeek,
    range: [1, 7],
  },
  hour: { type: 'double', means: 'The hour, 0 to 23.', empty: 12, read: ({ hour }) => hour, range: [0, 23] },
  minute: { type: 'double', means: 'The minute, 0 to 59.', empty: 0, read: ({ minute }) => minute, range: [0, 59] },
} as const satisfies FactTable<Temporal.ZonedDateTime>;

export type TimeFacts = FactsOf<typeof TIME_FACTS>;

/** Returns a local time for conditions of rules. */
const readTime = factReader<Temporal.ZonedDateTime, typeof TIME_FACTS>(TIME_FACTS);

const zonedTime = (timeMs: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);

/**
 * Returns a function that converts ms since 1970 to the calendar time of a zone (IANA name). The returned function caches the last minute,
 * because many requests come in the same minute. `zonedClock` throws RangeError for an unknown zone.
 */
export function zonedClock(timeZone: string): (timeMs: number) => TimeFacts {
  let minute = 0;
  let known = readTime(zonedTime(0, timeZone));
  return (timeMs) => {
    const asked = Math.floor(timeMs / MINUTE_MS);
    if (asked !== minute) {
      known = readTime(zonedTime(timeMs, timeZone));
      minute = asked;
    }
    return known;
  };
}
