import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BUCKET, DecayedQuantiles, HALF_LIFE_MS } from '../../../src/providers/health/quantile.ts';
import { tries } from '../../deep/effort.ts';

const { numRuns, seed } = tries('quantiles of a window are within their error', 300, 20_000);

const LOWEST = 1;
const HIGHEST = 100_000;

type Quantiles = Pick<DecayedQuantiles, 'observe' | 'quantile' | 'weight'>;

const histories = fc.record({
  seen: fc.array(
    fc.record({
      // Values are uniform over orders of magnitude.
      value: fc.double({ min: 0, max: 1, noNaN: true }).map((share) => LOWEST * (HIGHEST / LOWEST) ** share),
      pause: fc.oneof(
        fc.integer({ min: 0, max: 60_000 }),
        fc.constantFrom(HALF_LIFE_MS, 10 * HALF_LIFE_MS, 70 * HALF_LIFE_MS, 2_000 * HALF_LIFE_MS),
      ),
    }),
    { minLength: 1, maxLength: 200, size: 'max' },
  ),
  later: fc.integer({ min: 0, max: 3_000_000 }),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** The result is within one bucket of the exact quantile, by weights that halve with each half-life, and has the exact weight. */
const law = (subject: () => Quantiles) =>
  fc.property(histories, ({ seen, later, share }) => {
    const quantiles = subject();
    let now = 5_000;
    const all: { readonly value: number; readonly at: number }[] = [];
    for (const { value, pause } of seen) {
      now += pause;
      quantiles.observe(value, now);
      all.push({ value, at: now });
    }
    now += later;
    const weighed = all
      .map(({ value, at }) => ({ value, weight: 2 ** ((at - now) / HALF_LIFE_MS) }))
      .sort((a, b) => a.value - b.value);
    const total = weighed.reduce((sum, { weight }) => sum + weight, 0);
    expect(Math.abs(quantiles.weight(now) - total)).toBeLessThanOrEqual(1e-9 * total);
    // Sums in another order differ in their last digits, which may change the result.
    const found = quantiles.quantile(share);
    expect(found).toBeGreaterThanOrEqual(exact(weighed, (share - 1e-9) * total) / BUCKET);
    expect(found).toBeLessThanOrEqual(exact(weighed, (share + 1e-9) * total) * BUCKET);
  });

function exact(sorted: readonly { readonly value: number; readonly weight: number }[], rank: number): number {
  let sum = 0;
  for (const { value, weight } of sorted) {
    sum += weight;
    if (sum > 0 && sum >= rank) return value;
  }
  return sorted.at(-1)!.value;
}

const real = () => new DecayedQuantiles(LOWEST, HIGHEST);

/** The real quantiles with wrong values or times. */
function wrapped(more: Partial<Quantiles>): Quantiles {
  const inner = real();
  return {
    observe: (value, now) => inner.observe(value, now),
    quantile: (share) => inner.quantile(share),
    weight: (now) => inner.weight(now),
    ...more,
  };
}

const MUTANTS: Readonly<Record<string, () => Quantiles>> = {
  'nothing decays': () => {
    const inner = real();
    return wrapped({
      observe: (value) => inner.observe(value, 0),
      quantile: inner.quantile.bind(inner),
      weight: () => inner.weight(0),
    });
  },
  'decay is twice as slow': () => {
    const inner = real();
    return {
      observe: (value, now) => inner.observe(value, now / 2),
      quantile: (share) => inner.quantile(share),
      weight: (now) => inner.weight(now / 2),
    };
  },
  'old weights are lost when weights are rescaled': () => {
    let inner = real();
    let landmark = 0;
    return {
      observe(value, now) {
        if (now - landmark > 5 * HALF_LIFE_MS) {
          inner = real();
          landmark = now;
        }
        inner.observe(value, now);
      },
      quantile: (share) => inner.quantile(share),
      weight: (now) => inner.weight(now),
    };
  },
  'buckets are three times as wide': () => {
    const inner = real();
    const width = Math.log(BUCKET ** 3);
    return {
      observe: (value, now) => inner.observe(Math.exp(width * Math.floor(Math.log(value) / width)), now),
      quantile: (share) => inner.quantile(share),
      weight: (now) => inner.weight(now),
    };
  },
};

describe('decayed quantiles', () => {
  test('the quantiles are within one bucket of the exact quantiles', () => {
    fc.assert(law(real), { numRuns, seed });
  }, 3_600_000);

  test.each(Object.entries(MUTANTS))('the test would detect this mistake: %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 2_000, seed, endOnFailure: true }).failed).toBe(true);
  });

  test('a value out of range counts as the nearest bound', () => {
    const quantiles = real();
    for (const value of [LOWEST / 100, HIGHEST * 100]) quantiles.observe(value, 0);
    expect(quantiles.quantile(0)).toBeLessThan(LOWEST * BUCKET);
    expect(quantiles.quantile(1)).toBeGreaterThan(HIGHEST / BUCKET);
    expect(quantiles.quantile(1)).toBeLessThan(HIGHEST * BUCKET);
  });

  test('the quantiles are NaN without observations', () => {
    expect(real().quantile(0.5)).toBeNaN();
    expect(real().weight(1_000)).toBe(0);
  });

  test('the quantiles stay correct for years of observations', () => {
    const quantiles = real();
    const year = 31_536_000_000;
    for (let now = 0; now < 3 * year; now += year / 1_000) {
      quantiles.observe(50, now);
      quantiles.observe(200, now);
      quantiles.observe(200, now);
    }
    expect(quantiles.quantile(0.5)).toBeGreaterThan(200 / BUCKET);
    expect(quantiles.quantile(0.5)).toBeLessThan(200 * BUCKET);
  });
});
