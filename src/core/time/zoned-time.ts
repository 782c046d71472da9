import { readTime, type TimeFacts } from '../tables/facts/time.ts';
import { orElse } from '../thrown.ts';
import { MINUTE_MS } from './clock.ts';

/** Whether a text is a time zone: an IANA name or an offset. The check avoids `Intl`, which would load its formats at each start. */
export const isTimeZone = (name: string): boolean => orElse(() => new Temporal.ZonedDateTime(0n, name), null) !== null;

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
