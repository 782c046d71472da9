import { describe } from 'bun:test';
import fc from 'fast-check';
import { cheapestWithinMargin, fastestWithinMargin } from '../../plugins/strategies/margin.ts';
import {
  type Candidate,
  floor,
  type Law,
  margin,
  newcomer,
  order,
  prove,
  reportCoverage,
  through,
  trials,
} from './generators.ts';
import { host, least, mean, minMax, mutant, ties } from './mutants.ts';

reportCoverage();

interface Options {
  readonly quality_margin: number;
  readonly quality_enough?: number;
}

const options = fc
  .record({ quality_margin: margin, quality_enough: floor })
  .map(({ quality_margin, quality_enough }) =>
    quality_enough === undefined ? { quality_margin } : { quality_margin, quality_enough },
  );
const trial = trials({ options });
const optionsOf = (given: { readonly options: unknown }) => given.options as Options;

/** A mutant with another definition of "good enough". */
const within = (
  of: 'cost' | 'latency',
  enough: (best: number, margin: number, all: Float64Array, n: number) => number,
) =>
  mutant((i, candidates, _, { quality_margin }) => {
    const { n, quality } = candidates;
    const best = Math.max(...quality.subarray(0, n));
    const isEnough = quality[i]! >= enough(best, quality_margin!, quality, n);
    return isEnough ? 1 + 1 / (1 + candidates[of][i]!) : quality[i]!;
  });

function laws(of: 'cost' | 'latency', criterion: (one: Candidate) => number): readonly Law[] {
  return [
    {
      says: 'adding a candidate that does not raise the best quality never changes the order of the others',
      holds: (rank) =>
        fc.property(trial, newcomer, (given, one) => {
          const best = Math.max(...given.candidates.map(({ q }) => q));
          const added = { ...one, q: Math.min(one.q, best) };
          const after = rank({ ...given, candidates: [...given.candidates, added] });
          return Bun.deepEquals(
            order(rank(given)),
            order(after).filter((id) => id !== one.id),
          );
        }),
      mutants: {
        'a margin above the worst': within(of, (_, by, all, n) => least(n, all) + by),
        'a margin around the mean': within(of, (_, by, all, n) => mean(n, all) + by),
        'a criterion relative to the others': mutant(
          (i, candidates) => candidates.quality[i]! - minMax(candidates.n, candidates[of], i),
        ),
      },
    },
    {
      says: `a wider margin never picks a ${of === 'cost' ? 'more expensive' : 'slower'} model`,
      holds: (rank) =>
        fc.property(trial, margin, (given, other) => {
          const { quality_margin: one } = optionsOf(given);
          const [narrow, wide] = [one, other].map(
            (by) => rank({ ...given, options: { ...optionsOf(given), quality_margin: by } })[0]!,
          );
          return one <= other ? criterion(wide!) <= criterion(narrow!) : criterion(narrow!) <= criterion(wide!);
        }),
      mutants: {
        'the margin read as strictness': within(of, (best, by) => best - (1 - by)),
        'the margin as the weight of quality': mutant(
          (i, candidates, _, { quality_margin }) =>
            quality_margin! * candidates.quality[i]! - candidates[of][i]! / candidates.costReference / 1000,
        ),
      },
    },
    {
      says: `the choice is the ${of === 'cost' ? 'cheapest' : 'fastest'} model within the margin, and among equals the better one`,
      holds: (rank) =>
        fc.property(trial, (given) => {
          const { quality_margin, quality_enough = 2 } = optionsOf(given);
          const enough = Math.min(Math.max(...given.candidates.map(({ q }) => q)) - quality_margin, quality_enough);
          // At the edge of the margin the last bits of a subtraction decide.
          if (given.candidates.some(({ q }) => q !== enough && Math.abs(q - enough) < 2e-9)) return true;
          const good = given.candidates.filter(({ q }) => q >= enough);
          const lowest = Math.min(...good.map(criterion));
          const choice = rank(given)[0]!;
          // Amounts with the same rounded score count as equal. The factor of a hard request raises the amount that halves the score.
          const half = of === 'cost' ? given.reference * (given.factor ?? 1) * 20e6 : 20_000;
          const score = (amount: number) => half / (half + amount);
          return good.some(({ id }) => id === choice.id) && score(lowest) - score(criterion(choice)) < 2e-9;
        }),
      mutants: {
        'a margin in proportion': within(of, (best, by) => best * (1 - by)),
        'no margin': within(of, (best) => best),
        'the criterion alone': within(of, () => 0),
        'the other criterion': within(of === 'cost' ? 'latency' : 'cost', (best, by) => best - by),
        'quality alone': host(({ q }) => q, ties.right),
      },
    },
  ];
}

describe('cheapest-within-margin:', () => {
  for (const law of laws('cost', ({ c }) => c)) prove('cheapest-within-margin', through(cheapestWithinMargin), law);
});

describe('fastest-within-margin:', () => {
  for (const law of laws('latency', ({ l }) => l)) prove('fastest-within-margin', through(fastestWithinMargin), law);
});
