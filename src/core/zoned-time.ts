import { MINUTE_MS } from './clock.ts';
import type { RuleScope } from './rules.ts';
import { orElse } from './thrown.ts';

/** Whether a text names a time zone: by its IANA name, or as an offset. `Intl` would load its formats, at each start. */
export const isTimeZone = (name: string): boolean => orElse(() => new Temporal.ZonedDateTime(0n, name), null) !== null;

const zonedTime = (timeMs: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(Math.floor(timeMs)).toZonedDateTimeISO(timeZone);

/**
 * Tells the calendar time of a zone (IANA name) for moments in milliseconds since 1970. Requests come
 * many to a minute, so the last minute is kept: asking again costs nothing. Throws RangeError for an
 * unknown zone.
 */
export function zonedClock(timeZone: string): (timeMs: number) => RuleScope['time'] {
  let minute = 0;
  let known = timeOf(zonedTime(0, timeZone));
  return (timeMs) => {
    const asked = Math.floor(timeMs / MINUTE_MS);
    if (asked !== minute) {
      known = timeOf(zonedTime(timeMs, timeZone));
      minute = asked;
    }
    return known;
  };
}

const timeOf = ({ year, month, day, dayOfWeek, hour, minute }: Temporal.ZonedDateTime): RuleScope['time'] => ({
  year,
  month,
  day,
  weekday: dayOfWeek,
  hour,
  minute,
});
