import type { RuleScope } from './rules.ts';

const MINUTE_MS = 60_000;
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/**
 * Tells the calendar time of a zone (IANA name) for moments in milliseconds since 1970. Requests come
 * many to a minute, so the last minute is kept: asking again costs nothing. Throws RangeError for an
 * unknown zone.
 */
export function zonedClock(timeZone: string): (timeMs: number) => RuleScope['time'] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  });
  let minute = Number.NaN;
  let known: RuleScope['time'] | null = null;
  return (timeMs) => {
    const asked = Math.floor(timeMs / MINUTE_MS);
    if (known === null || asked !== minute) {
      known = partsOf(format, timeMs);
      minute = asked;
    }
    return known;
  };
}

function partsOf(format: Intl.DateTimeFormat, timeMs: number): RuleScope['time'] {
  const parts = new Map(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
  const figure = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  return {
    year: figure('year'),
    month: figure('month'),
    day: figure('day'),
    weekday: WEEKDAYS.indexOf(parts.get('weekday') ?? '') + 1,
    hour: figure('hour'),
    minute: figure('minute'),
  };
}
