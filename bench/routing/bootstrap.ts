import { quantile } from '../stats.ts';
import { chanceOf } from './chance.ts';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Yields bootstrap samples: how often each of n rows is drawn, with replacement. */
export function* resamples(n: number, times: number, seed: number): Generator<Float64Array> {
  const chance = chanceOf(seed);
  for (let round = 0; round < times; round++) {
    const weights = new Float64Array(n);
    for (let i = 0; i < n; i++) weights[Math.floor(chance() * n)]!++;
    yield weights;
  }
}

/**
 * Returns the middle 95 % of values, shifted so that their mean equals the mean of the figure. The shift is needed because a hull over
 * drawn rows is higher by chance than a hull over all rows. NaN values are left out.
 */
export function interval95(values: ArrayLike<number>, mean: number): Interval {
  const sorted = Float64Array.from(values)
    .filter((value) => !Number.isNaN(value))
    .sort();
  if (sorted.length === 0) return { low: Number.NaN, high: Number.NaN };
  const by = mean - sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { low: quantile(sorted, 0.025) + by, high: quantile(sorted, 0.975) + by };
}
