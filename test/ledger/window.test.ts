import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { QUARTER_MS, windowAt, windowOf } from '../../src/core/accounting/window.ts';
import { WINDOWS } from '../../src/core/money/budget.ts';
import { spanOf } from './model/calendar.ts';

const FROM = Date.UTC(2020, 0, 1);
const UNTIL = Date.UTC(2036, 0, 1);
const HOUR_MS = 3_600_000;
const ZONES = Intl.supportedValuesOf('timeZone');

const kinds = fc.constantFrom(...WINDOWS);
const zones = fc.oneof(
  fc.constantFrom(...ZONES),
  // Time zones whose clock changes at midnight or by half an hour, or whose offset is not a whole hour.
  fc.constantFrom('Europe/Berlin', 'Africa/Cairo', 'America/Santiago', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'),
);
const times = fc.integer({ min: FROM, max: UNTIL });

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

describe('a calendar window', () => {
  test('a calendar window has the local date of the time zone, in every time zone', () => {
    const law = fc.property(kinds, zones, times, (kind, zone, time) => {
      expect(windowAt(kind, zone, time)).toEqual(spanOf(kind, zone, time));
    });
    fc.assert(law, { numRuns: 1_500 });
  });

  test('a calendar window is followed by the next without a gap or overlap, and is the window of each time in it', () => {
    const law = fc.property(
      fc.constantFrom('day', 'week', 'month'),
      zones,
      times,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (kind, zone, time, share) => {
        const window = windowAt(kind, zone, time);
        const { starts, ends } = window;
        expect(starts <= time && time < ends).toBe(true);
        expect(windowAt(kind, zone, starts)).toEqual(window);
        expect(windowAt(kind, zone, ends - 1)).toEqual(window);
        expect(windowAt(kind, zone, Math.min(ends - 1, Math.floor(starts + share * (ends - starts))))).toEqual(window);
        expect(windowAt(kind, zone, ends).starts).toBe(ends);
        expect(windowAt(kind, zone, starts - 1).ends).toBe(starts);
      },
    );
    fc.assert(law, { numRuns: 1_000 });
  });

  test('a window of the kind `total` never ends', () => {
    expect(windowAt('total', 'Europe/Berlin', FROM)).toEqual({ starts: 0, ends: Number.POSITIVE_INFINITY });
  });

  test('a calendar window of an unknown time zone throws RangeError', () => {
    expect(() => windowAt('day', 'Europe/Atlantis', FROM)).toThrow(RangeError);
  });
});

const BY_HAND: Readonly<Record<string, string>> = {
  'a day on which the clock goes forward has 23 hours, and a day on which it goes back has 25': `
    day Europe/Berlin 2026-03-29T12:00 is 2026-03-28T23:00 to 2026-03-29T22:00
    day Europe/Berlin 2026-10-25T12:00 is 2026-10-24T22:00 to 2026-10-25T23:00`,
  'a day of Lord Howe Island, where the clock changes by half an hour, has 23.5 or 24.5 hours': `
    day Australia/Lord_Howe 2026-10-04T12:00 is 2026-10-03T13:30 to 2026-10-04T13:00
    day Australia/Lord_Howe 2026-04-05T12:00 is 2026-04-04T13:00 to 2026-04-05T13:30`,
  'a day whose midnight is skipped begins at one o’clock: in Cairo from +2 to +3, in Santiago from −4 to −3': `
    day Africa/Cairo 2024-04-26T10:00 is 2024-04-25T22:00 to 2024-04-26T21:00
    day America/Santiago 2024-09-08T10:00 is 2024-09-08T04:00 to 2024-09-09T03:00`,
  'a month has as many days as in the calendar': `
    month UTC 2028-02-29T23:59:59.999 is 2028-02-01T00:00 to 2028-03-01T00:00
    month UTC 2027-02-28T12:00 is 2027-02-01T00:00 to 2027-03-01T00:00
    month Europe/Berlin 2026-12-31T23:30 is 2026-12-31T23:00 to 2027-01-31T23:00
    month Europe/Berlin 2026-03-15T00:00 is 2026-02-28T23:00 to 2026-03-31T22:00`,
  'the leap day is a day of its own': `
    day UTC 2028-02-29T12:00 is 2028-02-29T00:00 to 2028-03-01T00:00`,
  'Kathmandu is 5:45 ahead': `
    day Asia/Kathmandu 2026-11-20T18:14:59.999 is 2026-11-19T18:15 to 2026-11-20T18:15`,
  'a day that a zone skipped belongs to no window: Samoa went from December 29 to December 31, 2011': `
    day Pacific/Apia 2011-12-30T09:59:59.999 is 2011-12-29T10:00 to 2011-12-30T10:00
    day Pacific/Apia 2011-12-30T10:00 is 2011-12-30T10:00 to 2011-12-31T10:00`,
  'weeks begin on Monday, also through a clock change and a new year': `
    week UTC 2026-11-22T23:59:59.999 is 2026-11-16T00:00 to 2026-11-23T00:00
    week UTC 2026-11-23T00:00 is 2026-11-23T00:00 to 2026-11-30T00:00
    week Europe/Berlin 2026-03-29T21:59:59.999 is 2026-03-22T23:00 to 2026-03-29T22:00
    week UTC 2027-01-01T00:00 is 2026-12-28T00:00 to 2027-01-04T00:00`,
};

test.each(Object.entries(BY_HAND))('windows equal the windows computed by hand: %s', (_, rows) => {
  for (const row of rows.trim().split('\n')) {
    const [kind, zone = '', time, , starts, , ends] = row.trim().split(' ');
    const found = windowAt(WINDOWS.find((one) => one === kind)!, zone, Date.parse(`${time}Z`));
    expect(found).toEqual({ starts: Date.parse(`${starts}Z`), ends: Date.parse(`${ends}Z`) });
  }
});

/** The times at which the offset of a zone changes, and the earliest time. */
function changesOf(zone: string): number[] {
  const changes = [FROM];
  let at = Temporal.Instant.fromEpochMilliseconds(FROM).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  while (at !== null && at.epochMilliseconds < UNTIL) {
    changes.push(at.epochMilliseconds);
    at = at.getTimeZoneTransition('next');
  }
  return changes;
}

test('every window of every zone begins on a quarter of an hour, as the sums of the ledger assume', () => {
  const wrong: string[] = [];
  for (const zone of ZONES) {
    for (const change of changesOf(zone)) {
      // The offset stays the same until the next change, so days begin 24 hours apart.
      const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(change).toZonedDateTimeISO(zone);
      if (offsetNanoseconds % (QUARTER_MS * 1e6) !== 0) wrong.push(`${zone}: offset at ${iso(change)}`);
      // The times below are on the days that the change affects.
      for (const near of [change - 24 * HOUR_MS, change - 1, change, change + 24 * HOUR_MS]) {
        const { starts, ends } = windowAt('day', zone, near);
        if (starts % QUARTER_MS !== 0 || ends % QUARTER_MS !== 0) wrong.push(`${zone}: ${iso(starts)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(ZONES.length).toBeGreaterThan(400);
});

describe('a window of a length', () => {
  const every = fc.record({
    seconds: fc.integer({ min: 1, max: 366 * 96 }).map((quarters) => quarters * 900),
    from: times.map((time) => Math.floor(time / QUARTER_MS) * QUARTER_MS),
  });
  const at = (of: { seconds: number; from: number }, time: number) =>
    windowOf({ window: 'every', every: of, timeZone: 'UTC' }, time);

  test('each moment is in exactly one window, and windows follow each other without a gap, before and after their anchor', () => {
    const law = fc.property(every, times, (of, time) => {
      const { starts, ends } = at(of, time);
      expect(starts <= time && time < ends).toBe(true);
      expect(ends - starts).toBe(of.seconds * 1_000);
      expect(Math.abs((starts - of.from) % (of.seconds * 1_000))).toBe(0);
      expect(starts % QUARTER_MS).toBe(0);
      expect([at(of, starts), at(of, ends - 1)]).toEqual([
        { starts, ends },
        { starts, ends },
      ]);
      expect([at(of, starts - 1).ends, at(of, ends).starts]).toEqual([starts, ends]);
    });
    fc.assert(law, { numRuns: 1_000 });
  });

  test('any window of a schedule can be its anchor', () => {
    const law = fc.property(every, fc.integer({ min: -400, max: 400 }), times, (of, windows, time) => {
      expect(at({ ...of, from: of.from + windows * of.seconds * 1_000 }, time)).toEqual(at(of, time));
    });
    fc.assert(law);
  });

  test('a window of days keeps its length over a change of the clock', () => {
    const day = { seconds: 86_400, from: Date.UTC(2026, 2, 28, 8) };
    expect(at(day, Date.UTC(2026, 2, 29, 12)).ends).toBe(Date.UTC(2026, 2, 30, 8));
  });
});
