import { describe } from 'bun:test';
import fc from 'fast-check';
import { auto } from '../../plugins/strategies/auto.ts';
import { autoCheap, autoFast } from '../../plugins/strategies/auto-fast-cheap.ts';
import { weighted } from '../../plugins/strategies/weighted.ts';
import type { StrategyPlugin } from '../../src/contract/strategy.ts';
import { qualityFactor } from '../../src/tools/conformance/candidates.ts';
import {
  emphasis,
  isTooClose,
  type Law,
  prove,
  type Ranker,
  rawWeights,
  reportCoverage,
  type Trial,
  through,
  trials,
  weights,
} from './generators.ts';
import { mutant } from './mutants.ts';

reportCoverage();

/** The largest hard factor of a policy. As `hard_factor_max`, it limits nothing. */
const FACTOR_MAX = 1_000;

const dials = fc
  .tuple(rawWeights, emphasis)
  .map(([own, by]) => ({ ...own, emphasis: by, patience_ms: 20_000, hard_factor_max: FACTOR_MAX }));

/** Returns an equivalent easy case, whose weight of quality is multiplied by the factor. */
function multiplied({ factor = 1, weights: given, options, ...rest }: Trial): Trial {
  const quality = (options as { readonly quality?: number }).quality ?? 0;
  return {
    ...rest,
    weights: given && { ...given, quality: given.quality * factor },
    options: given ? options : { ...options, quality: quality * factor },
  };
}

/** A strategy that applies the factor to the wrong parts of the weights. */
const spoilt = (isOwn: boolean, divides: (factor: number, quality: number) => readonly [number, number]) =>
  mutant((i, { quality, cost, latency, costReference, qualityFactor: h = 1 }, caller, given) => {
    const { quality: q, cost: c, latency: l } = isOwn ? (given as Record<string, number>) : { ...caller, latency: 0 };
    const sum = q! + c! + l!;
    const [ofCost, ofLatency] = divides(h, quality[i]!);
    const [byCost, byLatency] = [(cost[i]! * h) / (costReference * ofCost), latency[i]! / (20_000 * ofLatency)];
    return (q! * quality[i]! - c! * byCost - l! * byLatency) / sum;
  });

const law = (trial: fc.Arbitrary<Trial>, isOwn: boolean): Law => ({
  says: 'a hard request is decided as if its weight of quality were multiplied, by the same factor for all candidates',
  holds: (rank) =>
    fc.property(trial, (given) => {
      const [hard, plain] = [rank(given), rank(multiplied(given))];
      return isTooClose(hard) || isTooClose(plain) || hard[0]!.id === plain[0]!.id;
    }),
  mutants: {
    'a factor that counts only for good models': spoilt(isOwn, (h, quality) => (quality > 0.8 ? [h, h] : [1, 1])),
    'no factor': spoilt(isOwn, () => [1, 1]),
    ...(isOwn && { 'a factor of the cost alone': spoilt(isOwn, (h) => [h, 1]) }),
  },
});

const raising = (trial: fc.Arbitrary<Trial>): Law => ({
  says: 'a larger factor for hard requests never picks a worse model',
  holds: (rank) =>
    fc.property(trial, qualityFactor, (given, by) => {
      const before = rank(given);
      const after = rank({ ...given, factor: Math.min(FACTOR_MAX, (given.factor ?? 1) * by) });
      return isTooClose(before) || isTooClose(after) || after[0]!.q >= before[0]!.q;
    }),
  mutants: {
    'a factor of cost and latency': mutant(
      (i, { quality, cost, latency, costReference, qualityFactor: h = 1 }) =>
        quality[i]! - (h * h * cost[i]!) / costReference - (h * latency[i]!) / 20_000,
    ),
  },
});

/** Runs the strategy with another limit of the hard factor. */
const limited =
  (rank: Ranker, max: number): Ranker =>
  (given) =>
    rank({ ...given, options: { ...given.options, hard_factor_max: max } });

const limiting = (plugin: StrategyPlugin, of: 'c' | 'l', real: Ranker): Law => ({
  says: 'a lower limit of the hard factor never picks a model that is worse in the criterion of the selector',
  holds: (rank) =>
    fc.property(own, qualityFactor, fc.constantFrom(1, 2, 5), (given, factor, max) => {
      const hard = { ...given, factor };
      const [free, held] = [real(hard), limited(rank, max)(hard)];
      return isTooClose(free) || isTooClose(held) || held[0]![of] <= free[0]![of];
    }),
  mutants: {
    'a limit that multiplies the factor': (given) =>
      through(plugin)({
        ...given,
        factor: (given.factor ?? 1) * 20,
        options: { ...given.options, hard_factor_max: FACTOR_MAX },
      }),
  },
});

const own = trials({ options: dials });
const cases: readonly (readonly [StrategyPlugin, fc.Arbitrary<Trial>, boolean])[] = [
  [weighted, trials({ weights }), false],
  [auto, own, true],
  [autoCheap, own, true],
  [autoFast, own, true],
];

for (const [plugin, of] of [
  [autoCheap, 'c'],
  [autoFast, 'l'],
] as const) {
  describe(`${plugin.name}:`, () => {
    prove(plugin.name, through(plugin), limiting(plugin, of, through(plugin)));
  });
}

for (const [plugin, trial, isOwn] of cases) {
  describe(`${plugin.name}:`, () => {
    for (const one of [law(trial, isOwn), raising(trial)]) prove(plugin.name, through(plugin), one);
  });
}
