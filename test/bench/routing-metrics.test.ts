import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { interval95, resamples } from '../../bench/routing/bootstrap.ts';
import { binsOf, eceOf, squaredErrors, weightedMean } from '../../bench/routing/calibration.ts';
import { aiqOf, costAt, hullOf, type Point, qualityAt } from '../../bench/routing/hull.ts';
import { PairCurve } from '../../bench/routing/pair.ts';
import type { Sheet } from '../../bench/routing/pools.ts';
import { referencesOf, Sweep, singlesOf } from '../../bench/routing/sweep.ts';

const ones = (n: number) => new Float64Array(n).fill(1);
const f64 = (values: readonly number[]) => Float64Array.from(values);

/** Rows of a predicted gap and two scores. */
const pairRows = fc.array(
  fc.record({
    gap: fc.integer({ min: 0, max: 3 }),
    weak: fc.constantFrom(0, 0.5, 1),
    strong: fc.constantFrom(0, 0.5, 1),
    weight: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 6 },
);
type PairRow = { gap: number; weak: number; strong: number; weight: number };

const curveOf = (rows: readonly PairRow[], gaps = rows.map(({ gap }) => gap)) =>
  new PairCurve(f64(gaps), f64(rows.flatMap(({ weak, strong }) => [weak, strong])));
const differs = (rows: readonly PairRow[]) => rows.reduce((sum, { weak, strong }) => sum + strong - weak, 0) !== 0;

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

describe('APGR', () => {
  const rows: PairRow[] = [
    { gap: 4, weak: 0, strong: 1, weight: 1 },
    { gap: 1, weak: 1, strong: 1, weight: 1 },
    { gap: 0, weak: 0, strong: 0, weight: 1 },
    { gap: 3, weak: 0, strong: 1, weight: 1 },
  ];

  test('by hand: areas .5 + 1.5 + 2 + 2 of 4 rows and a whole gain of 2', () => {
    expect(curveOf(rows).apgr(ones(4))).toBeCloseTo(6 / 8, 12);
    expect(curveOf(rows, [-4, -1, 0, -3]).apgr(ones(4))).toBeCloseTo(2 / 8, 12);
    expect(curveOf(rows, [0.3, 0.1 + 0.2, 0.3, 0.3]).apgr(ones(4))).toBe(0.5);
    expect(curveOf(rows).points()).toEqual([
      [0, 0],
      [0.25, 0.5],
      [0.5, 1],
      [0.75, 1],
      [1, 1],
    ]);
  });

  /** The mean over all orders of rows whose gaps are equal. */
  const overOrders = (
    given: readonly PairRow[],
    apgr: (rows: readonly PairRow[], order: readonly number[]) => number,
  ) => {
    const values = permutations([...given.keys()]).map((order) => apgr(given, order));
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const broken = (given: readonly PairRow[], order: readonly number[]) =>
    curveOf(
      given,
      given.map(({ gap }, at) => gap + order[at]! / 100),
    ).apgr(ones(given.length));
  const tiesAreMeans = (measured: (given: readonly PairRow[]) => number) =>
    fc.check(
      fc.property(pairRows.filter(differs), (given) => Math.abs(measured(given) - overOrders(given, broken)) < 1e-9),
      { seed: 1, numRuns: 60 },
    ).failed;

  test('law: equal gaps count as the mean over their orders', () => {
    expect(tiesAreMeans((given) => curveOf(given).apgr(ones(given.length)))).toBe(false);
  });

  test('the law kills a mutant that takes equals as they come', () => {
    expect(tiesAreMeans((given) => broken(given, [...given.keys()]))).toBe(true);
  });

  test('law: a row that counts twice is two rows', () => {
    fc.assert(
      fc.property(pairRows.filter(differs), (given) => {
        const copies = given.flatMap((row) => Array.from({ length: row.weight }, () => row));
        if (!differs(copies)) return;
        expect(curveOf(given).apgr(given.map(({ weight }) => weight))).toBeCloseTo(
          curveOf(copies).apgr(ones(copies.length)),
          9,
        );
      }),
      { seed: 2, numRuns: 100 },
    );
  });
});

const pointsOf = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 20 })).map(([c, q]): Point => [c, q / 20]),
  { minLength: 1, maxLength: 12 },
);

describe('hulls', () => {
  const points: Point[] = [
    [0, 0],
    [1, 0.4],
    [2, 0.4],
    [2, 1],
    [3, 0.9],
  ];

  test('by hand', () => {
    const hull = hullOf(points);
    expect(hull).toEqual([
      [0, 0],
      [2, 1],
    ]);
    expect(qualityAt(hull, 1)).toBe(0.5);
    expect(qualityAt(hull, 9)).toBe(1);
    expect(costAt(hull, 0.75)).toBe(1.5);
    expect(costAt(hull, 1.01)).toBeNaN();
    expect(aiqOf(hull, 0, 3)).toBeCloseTo(2 / 3, 12);
  });

  const isHull = (of: (points: readonly Point[]) => Point[]) =>
    !fc.check(
      fc.property(pointsOf, (given) => {
        const hull = of(given);
        const slopes = hull.slice(1).map(([c, q], at) => (q - hull[at]![1]) / (c - hull[at]![0]));
        return (
          hull.every((point) => given.some(([c, q]) => c === point[0] && q === point[1])) &&
          given.every(([c, q]) => qualityAt(hull, c) >= q - 1e-12) &&
          slopes.every((slope, at) => slope > 0 && (at === 0 || slope < slopes[at - 1]! + 1e-12))
        );
      }),
      { seed: 3, numRuns: 200 },
    ).failed;

  test('law: never below a point, made of points, rising ever less', () => {
    expect(isHull(hullOf)).toBe(true);
  });

  test('the law kills a mutant that keeps every point that is better than those before', () => {
    const staircase = (given: readonly Point[]) =>
      [...given]
        .sort((a, b) => a[0] - b[0] || b[1] - a[1])
        .filter(([, q], at, all) => all.slice(0, at).every(([, other]) => other < q));
    expect(isHull(staircase)).toBe(false);
  });
});

function sheetOf(labels: readonly number[][], costs: readonly number[][]): Sheet {
  const rows = labels.map((_, at) => ({ id: `${at}`, source: 's', prompt: '', category: 's', labels: new Map() }));
  return { rows, labels: f64(labels.flat()), costs: f64(costs.flat()) };
}

describe('AIQ', () => {
  const sheet = sheetOf(
    [
      [1, 1],
      [0, 1],
    ],
    [
      [1, 3],
      [1, 3],
    ],
  );

  test('by hand: a router that knows pays for one answer of two', () => {
    const perfect = new Sweep(sheet.labels, referencesOf(sheet, false), sheet);
    const singles = singlesOf(sheet, ones(2));
    expect(singles.points).toEqual([
      [1, 0.5],
      [3, 1],
    ]);
    expect(singles.aiq).toBeCloseTo(0.75, 12);
    // From (1, .5) to (2, 1), then on to 3: .375 + .5 of a range of 2.
    expect(perfect.gain(ones(2), singles)).toBeCloseTo(0.875 - 0.75, 12);
    const { cost95, cost99 } = perfect.routed(ones(2), singles);
    expect(cost95).toBeCloseTo(1.9 / 3, 12);
    expect(cost99).toBeCloseTo(1.98 / 3, 12);
  });

  test('law: a router that predicts the mean for every prompt is on the hull, where prompts cost alike', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom(0, 1), { minLength: 3, maxLength: 3 }), { minLength: 2 }),
        (labels) => {
          const one = sheetOf(
            labels,
            labels.map(() => [1, 2, 5]),
          );
          const singles = singlesOf(one, ones(labels.length));
          const means = singles.points.map(([, quality]) => quality);
          const constant = new Sweep(f64(labels.flatMap(() => means)), referencesOf(one, false), one);
          expect(constant.gain(ones(labels.length), singles)).toBeCloseTo(0, 9);
        },
      ),
      { seed: 4, numRuns: 50 },
    );
  });

  test('law: a row that counts twice is two rows', () => {
    const row = fc.record({
      labels: fc.array(fc.constantFrom(0, 0.5, 1), { minLength: 3, maxLength: 3 }),
      predicted: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }),
      size: fc.integer({ min: 1, max: 9 }),
      weight: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(row, { minLength: 2, maxLength: 6 }), (given) => {
        const copies = given.flatMap((one) => Array.from({ length: one.weight }, () => one));
        if (copies.length === 0) return;
        const gainOf = (rows: typeof given, weights: readonly number[]) => {
          const one = sheetOf(
            rows.map(({ labels }) => labels),
            rows.map(({ size }) => [size, 2 * size + 1, 5 * size]),
          );
          const predicted = f64(rows.flatMap(({ predicted: p }) => p));
          return new Sweep(predicted, referencesOf(one, false), one).gain(weights, singlesOf(one, weights));
        };
        const weights = given.map(({ weight }) => weight);
        expect(gainOf(given, weights)).toBeCloseTo(
          gainOf(
            copies,
            copies.map(() => 1),
          ),
          9,
        );
      }),
      { seed: 5, numRuns: 50 },
    );
  });
});

describe('calibration', () => {
  test('Brier and ECE by hand', () => {
    const [predicted, labels] = [f64([0.2, 0.9, 0.25, 0.95]), f64([0, 1, 1, 1])];
    const errors = squaredErrors(predicted, labels, 2);
    expect(errors[0]).toBeCloseTo((0.04 + 0.01) / 2, 12);
    expect(errors[1]).toBeCloseTo((0.5625 + 0.0025) / 2, 12);
    expect(weightedMean(errors, [3, 1])).toBeCloseTo((3 * errors[0]! + errors[1]!) / 4, 12);
    const bins = binsOf(predicted, labels);
    expect(bins.map(({ count, observed }) => [count, observed])).toEqual([
      [2, 0.5],
      [2, 1],
    ]);
    expect(eceOf(bins)).toBeCloseTo(0.5 * (0.5 - 0.225) + 0.5 * (1 - 0.925), 12);
  });

  test('law: ECE is within 0 and 1, and 0 for perfect predictions', () => {
    const row = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), (rows) => {
        const [predicted, labels] = [f64(rows.map(([p]) => p)), f64(rows.map(([, y]) => y))];
        const ece = eceOf(binsOf(predicted, labels));
        expect(ece >= 0 && ece <= 1).toBe(true);
        expect(eceOf(binsOf(labels, labels))).toBeCloseTo(0, 12);
      }),
      { seed: 6, numRuns: 100 },
    );
  });
});

describe('bootstrap', () => {
  test('draws as many rows as there are, the same of the same seed', () => {
    const drawn = [...resamples(50, 20, 9)];
    expect(drawn.map((weights) => weights.reduce((sum, one) => sum + one, 0))).toEqual(Array(20).fill(50));
    expect(drawn).toEqual([...resamples(50, 20, 9)]);
    expect(drawn).not.toEqual([...resamples(50, 20, 10)]);
    expect(new Set(drawn.map((weights) => weights.join())).size).toBe(20);
  });

  test('the interval lies about the figure and holds 95 of 100 values', () => {
    const values = Array.from({ length: 1_000 }, (_, at) => at / 1_000);
    const { low, high } = interval95(values, 10);
    expect(high - low).toBeCloseTo(0.95, 9);
    expect(low).toBeCloseTo(10 - 0.4995 + 0.025, 9);
    expect(interval95([Number.NaN, 3, 3], 3)).toEqual({ low: 3, high: 3 });
    expect(interval95([Number.NaN], 3).low).toBeNaN();
  });

  test('the deviation of a mean is that of theory', () => {
    const values = f64(Array.from({ length: 400 }, (_, at) => at % 2));
    const { low, high } = interval95(
      [...resamples(400, 1_000, 3)].map((weights) => weightedMean(values, weights)),
      0.5,
    );
    // ± 1.96 · .5 / √400
    expect(high - low).toBeGreaterThan(0.085);
    expect(high - low).toBeLessThan(0.11);
  });
});
