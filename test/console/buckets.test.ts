import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isSparse, labelledBuckets } from '../../src/console/charts/buckets.ts';
import { basesOf } from '../../src/console/charts/scale.ts';
import { clockTime } from '../../src/console/design/format.ts';
import { axisOf } from '../../src/console/shell/axis.ts';
import { seedOf } from '../deep/effort.ts';

const SEED = seedOf('labels of a time axis');
const HOUR_MS = 3_600_000;

/** Buckets of a minute, an hour, a day or a month, as charts have them. */
const axis = fc
  .record({
    step: fc.constantFrom(HOUR_MS / 60, HOUR_MS, 24 * HOUR_MS, 30.5 * 24 * HOUR_MS),
    start: fc.nat(40_000_000).map((minute) => minute * 60_000),
    count: fc.integer({ min: 2, max: 400 }),
    width: fc.integer({ min: 160, max: 1_400 }),
  })
  .map(({ step, start, count, width }) => ({
    times: Array.from({ length: count }, (_, at) => Math.floor(start / step) * step + at * step),
    width,
  }));

const law = (label: typeof labelledBuckets) =>
  fc.check(
    fc.property(axis, ({ times, width }) => {
      const shown = label(times, width);
      const isOrdered = shown.every((bucket, at) => at === 0 || bucket > (shown[at - 1] ?? 0));
      return (
        shown.length >= 2 &&
        shown.length <= Math.max(2, width / 96 + 1) &&
        isOrdered &&
        shown.every((bucket) => bucket in times)
      );
    }),
    { seed: SEED, numRuns: 300 },
  );

test(`every chart of two buckets or more has at least two labels, and no more than fit (seed ${SEED})`, () => {
  const { failed, counterexample } = law(labelledBuckets);
  expect({ failed, counterexample }).toEqual({ failed: false, counterexample: null });
  // This mutant labels only full hours, of which an hour in minutes has one.
  const fullHours = (times: readonly number[]) =>
    times.flatMap((time, bucket) => (clockTime(time).endsWith(':00') ? [bucket] : []));
  expect(law(fullHours).failed).toBe(true);
});

test('a chart draws bars if only a few of its buckets have a value, and lines otherwise', () => {
  const values = (filled: number, of: number) => [
    { values: Array.from({ length: of }, (_, at) => (at < filled ? 1 : 0)) },
  ];
  expect(isSparse(values(1, 24), 24)).toBe(true);
  expect(isSparse(values(7, 168), 168)).toBe(true);
  expect(isSparse(values(8, 168), 168)).toBe(false);
  expect(isSparse([{ values: Array.from({ length: 24 }, () => null) }], 24)).toBe(true);
  // A bucket counts once, even if several lines have a value there.
  expect(isSparse([...values(5, 24), ...values(5, 24)], 24)).toBe(true);
});

test('a bucket is incomplete only if it ends after the last count, so the last day of a past period is complete', () => {
  const days = ['2026-11-01', '2026-11-02', '2026-11-03'].map((day) => `${day}T00:00:00.000Z`);
  const pendingFrom = (counted: string) =>
    axisOf({ times: days, to: '2026-11-04T00:00:00.000Z', first_at: null, counted_until: `${counted}:00.000Z` })
      .pendingFrom;
  expect(pendingFrom('2026-11-30T08:00')).toBe(3);
  expect(pendingFrom('2026-11-04T00:00')).toBe(3);
  expect(pendingFrom('2026-11-03T23:59')).toBe(2);
  expect(pendingFrom('2026-11-02T12:00')).toBe(1);
  expect(pendingFrom('2026-10-31T12:00')).toBe(0);
});

test('stacked bars begin where the bars before them end, and gaps count as nothing', () => {
  expect(basesOf([{ values: [1, null] }, { values: [2, 3] }, { values: [4, 5] }])).toEqual([
    [0, 0],
    [1, 0],
    [3, 3],
  ]);
});
