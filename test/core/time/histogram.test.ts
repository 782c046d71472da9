import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TimeHistogram } from '../../../src/core/time/histogram.ts';
import { tries } from '../../deep/effort.ts';

const times = fc.array(fc.integer({ min: 1, max: 3_600_000 }), { maxLength: 60 });

function histogramOf(values: readonly number[]): TimeHistogram {
  const histogram = new TimeHistogram();
  for (const value of values) histogram.add(value);
  return histogram;
}

/** Computes the exact quantile from the values themselves. */
const exact = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.max(1, Math.ceil(share * values.length)) - 1]!;

type Merge = (one: TimeHistogram, other: TimeHistogram) => TimeHistogram;

const merge: Merge = (one, other) => {
  const merged = TimeHistogram.decode(one.encode());
  merged.merge(TimeHistogram.decode(other.encode()));
  return merged;
};

/** Histograms that are stored and merged equal one histogram of all values, and every quantile is accurate within 5 %. */
const lawOf = (merged: Merge) =>
  fc.property(times, times, fc.double({ min: 0, max: 1, noNaN: true }), (one, other, share) => {
    const all = [...one, ...other];
    const found = merged(histogramOf(one), histogramOf(other));
    if (!Buffer.from(found.encode()).equals(Buffer.from(histogramOf(all).encode()))) return false;
    const told = found.quantile(share);
    if (all.length === 0) return told === null;
    return told !== null && Math.abs(told / exact(all, share) - 1) <= 0.05;
  });

const NAME = 'merged histograms of times equal the histogram of all times, and each quantile is accurate within 5 %';

test(NAME, () => {
  fc.assert(lawOf(merge), tries(NAME, 300, 20_000));
});

const MUTANTS: Readonly<Record<string, Merge>> = {
  'keeps only one part': (one) => one,
  'adds a part twice': (one, other) => merge(merge(one, other), other),
  'loses the last bucket': (one, other) => TimeHistogram.decode(merge(one, other).encode().slice(0, -2)),
};

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`the law of histograms detects a merge that ${name}`, () => {
    const { failed } = fc.check(lawOf(mutant), { numRuns: 500, seed: 7 });
    expect(failed).toBe(true);
  });
}

test('a time above an hour counts as an hour, and truncated bytes are refused', () => {
  expect(histogramOf([9e9]).quantile(1)).toBeGreaterThan(3_600_000);
  expect(() => TimeHistogram.decode(histogramOf([1, 900]).encode().slice(0, 3))).toThrow(RangeError);
});
