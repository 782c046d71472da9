import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { windowAt } from '../../src/core/accounting/window.ts';
import { forecastOf, runsOutAt } from '../../src/ledger/forecast.ts';
import { seedOf, tries } from '../deep/effort.ts';

const DAY_MS = 86_400_000;
/** A month of thirty days. */
const NOVEMBER = windowAt('month', 'UTC', Date.UTC(2026, 10, 20));

test('a forecast assumes that spending continues at the same rate: half of the window is half of the forecast', () => {
  const at = (days: number) => NOVEMBER.starts + days * DAY_MS;
  expect(forecastOf(500, NOVEMBER, at(15)).expected).toBe(1_000);
  expect(forecastOf(500, NOVEMBER, at(10)).expected).toBe(1_500);
  expect(forecastOf(500, NOVEMBER, NOVEMBER.ends).expected).toBe(500);
  expect(forecastOf(0, NOVEMBER, at(10)).expected).toBe(0);
});

test('before a tenth of the window is over, a budget has no forecast, but shows the time of its first forecast', () => {
  const knownFrom = NOVEMBER.starts + 3 * DAY_MS;
  expect(forecastOf(500, NOVEMBER, knownFrom - 1)).toEqual({ expected: null, knownFrom });
  expect(forecastOf(500, NOVEMBER, NOVEMBER.starts - DAY_MS)).toEqual({ expected: null, knownFrom });
  expect(forecastOf(500, NOVEMBER, knownFrom)).toEqual({ expected: 5_000, knownFrom });
});

test('a window that never ends has no forecast', () => {
  expect(forecastOf(500, windowAt('total', 'UTC', 0), DAY_MS)).toEqual({ expected: null, knownFrom: null });
});

test('a forecast is never below what was spent, never rises without spending, and ends at what was spent', () => {
  const law = fc.property(
    fc.constantFrom('day', 'week', 'month'),
    fc.nat(10_000),
    fc.nat(2 ** 40),
    fc.double({ min: 0, max: 1.2, noNaN: true }),
    fc.double({ min: 0, max: 1.2, noNaN: true }),
    (kind, day, spent, one, other) => {
      const window = windowAt(kind, 'Europe/Berlin', day * DAY_MS);
      const at = (share: number) => window.starts + Math.floor(share * (window.ends - window.starts));
      const [sooner, later] = [Math.min(one, other), Math.max(one, other)];
      const first = forecastOf(spent, window, at(sooner)).expected;
      const second = forecastOf(spent, window, at(later)).expected;
      expect(first ?? spent).toBeGreaterThanOrEqual(spent);
      if (first !== null) expect(second).toBeLessThanOrEqual(first);
      expect(forecastOf(spent, window, window.ends).expected).toBe(spent);
    },
  );
  fc.assert(law, tries('forecast', 100, 5_000));
});

test('a budget runs out before its window ends exactly if more than its limit is forecast', () => {
  const at = (days: number) => NOVEMBER.starts + days * DAY_MS;
  expect(runsOutAt(500, 1_000, NOVEMBER, at(10))).toBe(at(20));
  expect(runsOutAt(500, 1_500, NOVEMBER, at(10))).toBeNull();
  expect(runsOutAt(0, 1_000, NOVEMBER, at(10))).toBeNull();
  expect(runsOutAt(500, 1_000, NOVEMBER, at(2))).toBeNull();
  // A budget that is used up already does not run out any more.
  expect(runsOutAt(1_000, 1_000, NOVEMBER, at(2))).toBeNull();
  expect(runsOutAt(2_000, 1_000, NOVEMBER, at(10))).toBeNull();
  expect(runsOutAt(500, 100, windowAt('total', 'UTC', 0), DAY_MS)).toBeNull();
});

test('a budget whose spending has just risen is forecast from the last 24 hours, not from the average of the month', () => {
  const now = NOVEMBER.starts + 20 * DAY_MS;
  // Nothing was spent for 19 days, and 600 on the last day: 600 more on each of the ten days that are left.
  expect(forecastOf(600, NOVEMBER, now, 600).expected).toBe(6_600);
  expect(runsOutAt(600, 3_600, NOVEMBER, now, 600)).toBe(now + 5 * DAY_MS);
  // A day without spending does not lower the forecast below the average.
  expect(forecastOf(600, NOVEMBER, now, 0).expected).toBe(900);
  expect(runsOutAt(600, 800, NOVEMBER, now, 0)).toBe(runsOutAt(600, 800, NOVEMBER, now));
  // Before a tenth of the window, no rate is extended.
  expect(forecastOf(600, NOVEMBER, NOVEMBER.starts + DAY_MS, 600).expected).toBeNull();
});

const SEED = seedOf('forecast of two rates');

type Forecaster = typeof forecastOf;

/** Whether a forecast extends each of the two rates, and nothing more. */
const worseOfTwoRates = (of: Forecaster, runsOut: typeof runsOutAt) =>
  fc.property(
    fc.constantFrom('day', 'week', 'month'),
    fc.nat(10_000),
    fc.integer({ min: 1, max: 2 ** 40 }),
    fc.nat(2 ** 40),
    fc.integer({ min: 1, max: 2 ** 42 }),
    fc.double({ min: 0.11, max: 1, noNaN: true }),
    (kind, day, spent, recent, limit, share) => {
      const window = windowAt(kind, 'Europe/Berlin', day * DAY_MS);
      const now = window.starts + Math.floor(share * (window.ends - window.starts));
      const average = forecastOf(spent, window, now).expected ?? 0;
      const recentOnly = spent + (recent * (window.ends - now)) / DAY_MS;
      const expected = of(spent, window, now, recent).expected ?? 0;
      expect(expected).toBeGreaterThanOrEqual(average);
      expect(Math.abs(expected - Math.max(average, recentOnly))).toBeLessThanOrEqual(1);
      // The budget runs out if and only if more than its limit is forecast. Amounts next to the limit depend on rounding.
      if (Math.abs(expected - limit) <= 1 + limit / 1e6) return;
      const at = runsOut(spent, limit, window, now, recent);
      expect(at !== null).toBe(expected > limit && spent < limit);
      if (at !== null) expect(at).toBeGreaterThanOrEqual(now);
    },
  );

test(`a forecast is the worse of the average rate and the rate of the last 24 hours (seed ${SEED})`, () => {
  fc.assert(worseOfTwoRates(forecastOf, runsOutAt), tries('forecast of two rates', 200, 10_000));
});

test.each<readonly [string, Forecaster]>([
  ['ignores the last 24 hours', (spent, window, now) => forecastOf(spent, window, now)],
  [
    'extends only the last 24 hours',
    (spent, window, now, recent) => {
      const left = Math.max(0, window.ends - now);
      return { ...forecastOf(spent, window, now), expected: Math.round(spent + ((recent ?? 0) * left) / DAY_MS) };
    },
  ],
])('the law of two rates finds a forecast that %s', (_, mutant) => {
  expect(fc.check(worseOfTwoRates(mutant, runsOutAt), { seed: SEED }).failed).toBe(true);
});
