import { describe, test } from 'bun:test';
import fc from 'fast-check';
import { auto } from '../../plugins/strategies/auto.ts';
import { autoCheap, autoFast } from '../../plugins/strategies/auto-fast-cheap.ts';
import { cheapestWithinMargin, fastestWithinMargin } from '../../plugins/strategies/margin.ts';
import { PATIENCE_MS_MAX } from '../../plugins/strategies/weights.ts';
import {
  type Candidate,
  emphasis,
  floor,
  isTooClose,
  type Law,
  prove,
  type Ranker,
  rawWeights,
  reportCoverage,
  through,
  trials,
} from './generators.ts';
import { host, mutant, scores, ties } from './mutants.ts';

reportCoverage();

/** The options of `auto`, and the factor of another selector. */
const options = fc
  .tuple(
    rawWeights,
    fc.constantFrom(1000, 20_000, 60_000),
    floor,
    emphasis,
    fc.constantFrom(1, 60, 5000, PATIENCE_MS_MAX),
    fc.constantFrom(1, 2, 1000),
  )
  .map(([weights, patience_ms, least, by, perToken, hardFactorMax]) => ({
    ...weights,
    patience_ms,
    emphasis: by,
    hard_factor_max: hardFactorMax,
    // Only `auto-fast` has this option.
    patience_ms_per_token: perToken,
    ...(least === undefined ? {} : { quality_floor: least }),
  }));
const trial = trials({ options });
const OF_AUTO_FAST = ['patience_ms_per_token'] as const;

const without =
  (rank: Ranker, ...names: readonly string[]): Ranker =>
  (given) =>
    rank({
      ...given,
      options: Object.fromEntries(Object.entries(given.options).filter(([name]) => !names.includes(name))),
    });

/** Ranks the same candidates with `auto` and the same weights. */
const byAuto = without(through(auto), 'emphasis', 'hard_factor_max', ...OF_AUTO_FAST);

/** Runs the strategy with altered options. */
const spoilt =
  (rank: Ranker, spoil: (options: Readonly<Record<string, number>>) => Record<string, unknown>): Ranker =>
  (given) =>
    rank({ ...given, options: { ...given.options, ...spoil(given.options as Readonly<Record<string, number>>) } });

function neverWorse(of: 'cost' | 'latency', criterion: (one: Candidate) => number, real: Ranker, within: Ranker): Law {
  return {
    says: `its choice never ${of === 'cost' ? 'costs more' : 'is slower'} than the choice of auto`,
    holds: (rank) =>
      fc.property(trial, (given) => {
        const [ofAuto, own] = [byAuto(given), rank(given)];
        return isTooClose(ofAuto) || isTooClose(own) || criterion(own[0]!) <= criterion(ofAuto[0]!);
      }),
    mutants: {
      'a margin below the best quality': spoilt(within, () => ({
        quality: undefined,
        quality_margin: 0.12,
      })),
      'an emphasis below 1': spoilt(real, ({ emphasis: by }) => ({ emphasis: 1 / by! })),
      'weights that do not follow auto': spoilt(real, () => ({ quality: 0.6, cost: 0.3, latency: 0.1 })),
      'a quality floor of its own': spoilt(real, () => ({ quality_floor: 0.95 })),
      'another patience': spoilt(real, ({ patience_ms: own }) => ({
        patience_ms: of === 'cost' ? own! / 10 : own! * 10,
      })),
      ...(of === 'latency' && {
        // A patience for 101 tokens, which may exceed the patience of auto.
        'a patience that depends only on tokens': spoilt(real, ({ patience_ms_per_token: each }) =>
          each === PATIENCE_MS_MAX ? {} : { patience_ms: 1e9, emphasis: 1 },
        ),
      }),
      'emphasis on quality': spoilt(real, ({ quality, emphasis: by }) => ({ quality: quality! * by!, emphasis: 1 })),
    },
  };
}

const ofTies = (of: 'cost' | 'latency', criterion: (one: Candidate) => number): Law => ({
  says: `of models with the same utility it chooses the ${of === 'cost' ? 'cheaper' : 'faster'} one`,
  holds: (rank) =>
    fc.property(trial, (given) => {
      const ranking = rank(given);
      const tied = ranking.filter(({ utility }) => utility === ranking[0]!.utility);
      return tied.every((one) => criterion(ranking[0]!) <= criterion(one));
    }),
  mutants: { 'ties broken by quality first': host(() => 0, ties.right) },
});

const floored: Law = {
  says: 'no model below the quality floor is chosen while another model reaches it; if none does, the best in quality is chosen',
  holds: (rank) =>
    fc.property(trial, (given) => {
      const { quality_floor: least } = given.options as { readonly quality_floor?: number };
      if (least === undefined) return true;
      const ranking = rank(given);
      const best = Math.max(...given.candidates.map(({ q }) => q));
      if (best < least - 1e-9) return ranking[0]!.q >= best - 1e-9;
      return ranking.every(({ q }) => q >= least - 1e-9);
    }),
  mutants: {
    'no floor': host(scores.autoRaw, ties.right),
    'a floor that loosens': mutant((i, { quality }, _, { quality_floor: least }) =>
      least !== undefined && quality[i]! >= least ? 2 - quality[i]! : quality[i]!,
    ),
  },
};

const stripped =
  (plugin: typeof cheapestWithinMargin): Ranker =>
  (given) =>
    through(plugin)({ ...given, options: { quality_margin: 0.12 } });

const selectors = [
  [autoCheap, 'cost', ({ c }: Candidate) => c, cheapestWithinMargin],
  [autoFast, 'latency', ({ l }: Candidate) => l, fastestWithinMargin],
] as const;

describe.each(selectors)('$name:', (plugin, of, criterion, within) => {
  const real = of === 'latency' ? through(plugin) : without(through(plugin), ...OF_AUTO_FAST);
  const laws = [neverWorse(of, criterion, real, stripped(within)), ofTies(of, criterion), floored];
  for (const law of laws) prove(plugin.name, real, law);
});

describe('auto:', () => {
  prove('auto', byAuto, floored);

  test('an emphasis of 1 changes nothing', () => {
    fc.assert(
      fc.property(trial, (given) => {
        const neutral = { emphasis: 1, patience_ms_per_token: PATIENCE_MS_MAX, hard_factor_max: 1000 };
        const plain = { ...given, options: { ...given.options, ...neutral } };
        const best = byAuto(plain)[0]!.utility;
        return [autoCheap, autoFast].every((plugin) => through(plugin)(plain)[0]!.utility === best);
      }),
      { numRuns: 500 },
    );
  });
});
