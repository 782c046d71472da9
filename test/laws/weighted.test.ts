import { describe } from 'bun:test';
import fc from 'fast-check';
import { weighted } from '../../plugins/strategies/weighted.ts';
import {
  candidates,
  isTooClose,
  type Law,
  newcomer,
  order,
  prove,
  type Ranker,
  rawWeights,
  reference,
  reportCoverage,
  type Trial,
  through,
  trials,
  WORTH,
  weight,
  weights,
} from './generators.ts';
import { host, least, mean, minMax, most, mutant, scores, ties } from './mutants.ts';

reportCoverage();

const trial = trials({ weights });
const factor = fc.double({ min: 1.01, max: 1000, noNaN: true, noDefaultInfinity: true });
/** Increases of a weight, also from 0. */
const rise = fc.record({ factor, step: fc.constantFrom(0, 0.01, 1) });
const raised = (value: number, by: { factor: number; step: number }) => value * by.factor + by.step;

/** Returns the choices of two cases, or null if rounding may decide either of them. */
function choices(rank: Ranker, a: Trial, b: Trial) {
  const before = rank(a);
  const after = rank(b);
  return isTooClose(before) || isTooClose(after) ? null : ([before[0]!, after[0]!] as const);
}

const swapped = mutant(
  (i, { quality, cost, reference }, w) => w.cost * quality[i]! - (w.quality * cost[i]!) / reference,
);
const discountedTwice = mutant(
  (i, { quality, cost, reference }, w) => quality[i]! - (w.cost * w.quality * cost[i]!) / reference,
);

const costLaw: Law = {
  says: 'raising the cost weight never picks a more expensive model',
  holds: (rank) =>
    fc.property(trial, rise, (given, by) => {
      const { cost, quality } = given.weights!;
      const pair = choices(rank, given, { ...given, weights: { quality, cost: raised(cost, by) } });
      return pair === null || pair[1].c <= pair[0].c;
    }),
  mutants: { 'swapped weights': swapped, 'a cost discounted by both weights': discountedTwice },
};

const qualityLaw: Law = {
  says: 'raising the quality weight never picks a worse model',
  holds: (rank) =>
    fc.property(trial, rise, (given, by) => {
      const { cost, quality } = given.weights!;
      const pair = choices(rank, given, { ...given, weights: { cost, quality: raised(quality, by) } });
      return pair === null || pair[1].q >= pair[0].q;
    }),
  mutants: { 'swapped weights': swapped, 'a cost discounted by both weights': discountedTwice },
};

const timed = trials({ weights: rawWeights });

const latencyLaw: Law = {
  says: 'raising the latency weight never picks a slower model',
  holds: (rank) =>
    fc.property(timed, rise, (given, by) => {
      const { cost, quality, latency = 0 } = given.weights!;
      const pair = choices(rank, given, { ...given, weights: { cost, quality, latency: raised(latency, by) } });
      return pair === null || pair[1].l <= pair[0].l;
    }),
  mutants: {
    'a time discounted by both weights': mutant(
      (i, { quality, latency }, { latency: l = 0, quality: q }) =>
        quality[i]! - (l * (1 - l) * q * latency[i]!) / 1_000,
    ),
    'slower is better': mutant(
      (i, { quality, latency }, { latency: l = 0 }) => quality[i]! + (l * latency[i]!) / 1_000,
    ),
  },
};

const scaleLaw: Law = {
  says: 'scaling both weights changes nothing',
  holds: (rank) =>
    fc.property(trial, fc.oneof(factor, fc.constantFrom(1e-12, 1e-6, 1e9)), (given, by) => {
      const { cost, quality } = given.weights!;
      const before = rank(given);
      const after = rank({ ...given, weights: { cost: cost * by, quality: quality * by } });
      return isTooClose(before) || before[0]!.id === after[0]!.id;
    }),
  mutants: {
    'unnormalised weights': host(scores.weightedRaw, ties.right),
    'weights clipped at 1': host(
      (one, given) =>
        scores.weightedRaw(one, {
          ...given,
          weights: { cost: Math.min(1, given.weights!.cost), quality: Math.min(1, given.weights!.quality) },
        }),
      ties.right,
    ),
  },
};

const exactScaleLaw: Law = {
  says: 'scaling both weights by a power of two leaves every bit of every utility',
  holds: (rank) =>
    fc.property(trial, fc.integer({ min: -40, max: 40 }), (given, power) => {
      const { cost, quality } = given.weights!;
      const by = 2 ** power;
      const after = rank({ ...given, weights: { cost: cost * by, quality: quality * by } });
      return Bun.deepEquals(rank(given), after);
    }),
  mutants: { 'unnormalised weights': host(scores.weightedRaw, ties.right) },
};

const independence: Law = {
  says: 'adding a candidate never changes the order of the others',
  holds: (rank) =>
    fc.property(trial, newcomer, (given, one) => {
      const after = rank({ ...given, candidates: [...given.candidates, one] });
      return Bun.deepEquals(
        order(rank(given)),
        order(after).filter((id) => id !== one.id),
      );
    }),
  mutants: {
    'min–max normalised cost': mutant(
      (i, { n, quality, cost }, w) => w.quality * quality[i]! - w.cost * minMax(n, cost, i),
    ),
    'min–max normalised quality': mutant(
      (i, { n, quality, cost, reference }, w) => w.quality * minMax(n, quality, i) - (w.cost * cost[i]!) / reference,
    ),
    'cost relative to the mean': mutant(
      (i, { n, quality, cost }, w) => w.quality * quality[i]! - (w.cost * cost[i]!) / (mean(n, cost) || 1),
    ),
    'cost relative to the cheapest': mutant(
      (i, { n, quality, cost }, w) => w.quality * quality[i]! - (w.cost * cost[i]!) / (least(n, cost) || 1),
    ),
    'cost relative to the most expensive': mutant(
      (i, { n, quality, cost }, w) => w.quality * quality[i]! - (w.cost * cost[i]!) / (most(n, cost) || 1),
    ),
  },
};

const purchase = fc.record({
  q: fc.integer({ min: 0, max: 90 }),
  points: fc.integer({ min: 1, max: 10 }),
  c: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_000_000 })),
  more: fc.integer({ min: 1, max: 10_000_000 }),
  reference,
  given: fc.record({ cost: weight.filter((w) => w > 0), quality: weight }),
  size: fc.constantFrom(1, 10, 1000),
});

const promise: Law = {
  says: 'another percentage point of quality is worth up to 0.01·20·w_q/w_c references, for requests of every size',
  holds: (rank) =>
    fc.property(purchase, ({ q, points, c, more, reference: unit, given, size }) => {
      const plain = { id: 'plain', q: q / 100, c: c * size, l: 500 };
      const better = { id: 'better', q: (q + points) / 100, c: (c + more) * size, l: 500 };
      const asked = { candidates: [plain, better], reference: unit * size, weights: given, options: {} };
      const ranking = rank(asked);
      const worth = points * 0.01 * WORTH * (given.quality / given.cost) * unit;
      const price = more / 1e6;
      const share = (given.cost / (given.cost + given.quality)) * (Math.abs(worth - price) / (WORTH * unit));
      return share <= 2e-9 || (ranking[0]!.id === 'better') === price < worth;
    }),
  mutants: {
    'quality for a Credit': mutant((i, { quality, cost }) => quality[i]! / (cost[i]! + 1e-9)),
    'log cost': mutant((i, { quality, cost }, w) => w.quality * quality[i]! - w.cost * Math.log(cost[i]! + 1e-9)),
    'min–max normalised cost': mutant(
      (i, { n, quality, cost }, w) => w.quality * quality[i]! - w.cost * minMax(n, cost, i),
    ),
    'cost in Credits, whatever the size': mutant(
      (i, { quality, cost }, w) => w.quality * quality[i]! - w.cost * cost[i]!,
    ),
    'a cost that saturates': mutant(
      (i, { quality, cost, reference }, w) => w.quality * quality[i]! - (w.cost * cost[i]!) / (cost[i]! + reference),
    ),
    'a coarse grain': host(scores.weighted, ties.right, 100),
  },
};

const qualityAlone: Law = {
  says: 'a cost weight of 0 picks the best quality, whatever it costs',
  holds: (rank) =>
    fc.property(candidates, reference, (list, unit) => {
      const at = (given: { cost: number; quality: number }) =>
        rank({ candidates: list, reference: unit, weights: given, options: {} })[0]!;
      return at({ cost: 0, quality: 1 }).q === Math.max(...list.map(({ q }) => q));
    }),
  mutants: {
    'quality for a Credit': mutant((i, { quality, cost }) => quality[i]! / (cost[i]! + 1e-9)),
    'default weights where one weight is 0': mutant(
      (i, { quality, cost, reference }, w) =>
        (w.quality || 0.7) * quality[i]! - ((w.cost || 0.3) * cost[i]!) / reference,
    ),
  },
};

describe('weighted:', () => {
  const real = through(weighted);
  for (const law of [costLaw, qualityLaw, latencyLaw, scaleLaw, exactScaleLaw, independence, promise, qualityAlone])
    prove('weighted', real, law);
});
