import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Ladder, TierName } from '../../src/core/request/tiers.ts';
import { escalated, type LadderCandidates, type LadderChoice, laddered } from '../../src/routing/ladder.ts';
import { tries } from '../deep/effort.ts';

/** A model of a catalog, with its estimates for the typical request and for a request. Few values, so that many models are equal. */
interface ModelFigures {
  readonly quality: number;
  readonly typicalCost: number;
  readonly typicalMs: number;
  readonly cost: number;
  readonly ms: number;
}

const model: fc.Arbitrary<ModelFigures> = fc.record({
  quality: fc.oneof(fc.constantFrom(0.8, 0.9, 0.91, 0.92, 0.93, 0.94), fc.double({ min: 0, max: 1, noNaN: true })),
  typicalCost: fc.constantFrom(0, 0.1, 0.25, 0.5, 1, 2, 6),
  typicalMs: fc.constantFrom(500, 1_000, 4_000, 20_000),
  cost: fc.constantFrom(0, 0.1, 0.3, 1, 5),
  ms: fc.constantFrom(400, 1_500, 9_000),
});
const catalog = fc.array(model, { minLength: 1, maxLength: 7 });
const margins = fc
  .record({
    margin: fc.constantFrom(0, 0.03, 0.1),
    strong: fc.constantFrom(0, 0.01, 0.05),
    wider: fc.constantFrom(0, 0.05, 0.2),
  })
  .map(({ margin, strong, wider }) => ({
    auto: { usual: margin, strong: Math.min(margin, strong) },
    other: { usual: margin + wider, strong: Math.min(margin, strong) + Math.min(wider, 0.02) },
  }));
type Margins = typeof margins extends fc.Arbitrary<infer One> ? One : never;

/** Makes the ladder of a selector by a typical figure. Models with equal figures are ordered by quality and then by their position. */
function ladderBy(
  models: readonly ModelFigures[],
  of: (one: ModelFigures) => number,
  rest: Pick<Ladder, 'margins' | 'stepCost' | 'limit'>,
): Ladder {
  const order = models
    .map((_, at) => at)
    .sort((a, b) => of(models[a]!) - of(models[b]!) || models[b]!.quality - models[a]!.quality || a - b);
  const places = new Int32Array(models.length);
  for (const [place, at] of order.entries()) places[at] = place;
  return { ...rest, reason: 'costs least', order, places, cost: Float64Array.from(models, (one) => one.typicalCost) };
}

const autoOf = (models: readonly ModelFigures[], { auto }: Margins): Ladder =>
  ladderBy(models, ({ typicalCost, typicalMs }) => typicalCost + typicalMs / 10_000, {
    margins: auto,
    stepCost: 3,
    limit: null,
  });
const cheapOf = (models: readonly ModelFigures[], { other }: Margins): Ladder =>
  ladderBy(models, ({ typicalCost }) => typicalCost, {
    margins: other,
    stepCost: null,
    limit: { selector: 'auto', by: 'cost' },
  });
const fastOf = (models: readonly ModelFigures[], { other }: Margins): Ladder =>
  ladderBy(models, ({ typicalMs }) => typicalMs, {
    margins: other,
    stepCost: null,
    limit: { selector: 'auto', by: 'latency' },
  });

/** Returns the candidates of a request that may use the models of these indexes. */
function candidatesOf(models: readonly ModelFigures[], indexes = models.map((_, at) => at)): LadderCandidates {
  const column = (of: (one: ModelFigures) => number) => Float64Array.from(indexes, (at) => of(models[at]!));
  return {
    n: indexes.length,
    model: Int32Array.from(indexes),
    quality: column(({ quality }) => quality),
    cost: column(({ cost }) => cost),
    latency: column(({ ms }) => ms),
  };
}

type Choose = typeof laddered;

/** Returns the choice that the order gave, before another rule replaced it. */
const firstOf = (choice: LadderChoice): LadderChoice => (choice.before ? firstOf(choice.before) : choice);

/** Whether another model is no worse in the estimates of a request, and better in one. */
const isDominated = (own: ModelFigures, models: readonly ModelFigures[]): boolean =>
  models.some(
    ({ quality, cost, ms }) =>
      quality >= own.quality &&
      cost <= own.cost &&
      ms <= own.ms &&
      (quality > own.quality || cost < own.cost || ms < own.ms),
  );

const TIERS: readonly TierName[] = ['usual', 'strong'];

/** The laws of a ladder. Each returns whether it holds for a catalog. */
const LAWS: Readonly<Record<string, (choose: Choose, models: readonly ModelFigures[], given: Margins) => boolean>> = {
  'a hard request never gets a worse model than a usual one': (choose, models, given) => {
    const auto = autoOf(models, given);
    const candidates = candidatesOf(models);
    return [auto, cheapOf(models, given), fastOf(models, given)].every((ladder) => {
      const [usual, strong] = TIERS.map((name) => choose(ladder, ladder.limit ? auto : null, name, candidates)!.at);
      return models[strong!]!.quality >= models[usual!]!.quality;
    });
  },
  'auto-cheap never costs more than auto, and auto-fast is never slower': (choose, models, given) => {
    const auto = autoOf(models, given);
    const candidates = candidatesOf(models);
    return TIERS.every((name) => {
      const own = models[choose(auto, null, name, candidates)!.at]!;
      const cheap = models[choose(cheapOf(models, given), auto, name, candidates)!.at]!;
      const fast = models[choose(fastOf(models, given), auto, name, candidates)!.at]!;
      return cheap.cost <= own.cost && fast.ms <= own.ms;
    });
  },
  'no chosen model is worse than another in everything': (choose, models, given) => {
    const auto = autoOf(models, given);
    const candidates = candidatesOf(models);
    return [auto, cheapOf(models, given), fastOf(models, given)].every((ladder) =>
      TIERS.every((name) => {
        const own = models[choose(ladder, ladder.limit ? auto : null, name, candidates)!.at]!;
        return !isDominated(own, models);
      }),
    );
  },
  'the order of the catalog changes nothing': (choose, models, given) => {
    // With equal figures, the ID decides, so equal models are told apart by their quality.
    const distinct = models.map((one, at) => ({ ...one, quality: Math.min(1, one.quality) + at * 1e-6 }));
    const back = distinct.toReversed();
    const chosen = (all: readonly ModelFigures[]) =>
      TIERS.map((name) => all[choose(autoOf(all, given), null, name, candidatesOf(all))!.at]!);
    return Bun.deepEquals(chosen(distinct), chosen(back));
  },
  'a model outside of the margin changes nothing': (choose, models, given) => {
    const auto = autoOf(models, given);
    const best = Math.max(...models.map(({ quality }) => quality));
    return TIERS.every((name) => {
      const all = choose(auto, null, name, candidatesOf(models))!.at;
      const near = models.flatMap(({ quality }, at) => (quality >= best - auto.margins.usual - 1e-9 ? [at] : []));
      return near[choose(auto, null, name, candidatesOf(models, near))!.at] === all;
    });
  },
  'without a step and a limit, a model that the order passes by and that is not the best changes nothing': (
    choose,
    models,
    given,
  ) => {
    const cheap = { ...cheapOf(models, given), limit: null };
    const best = Math.max(...models.map(({ quality }) => quality));
    const indexes = models.map((_, at) => at);
    const chosen = choose(cheap, null, 'usual', candidatesOf(models))!;
    return indexes.every((left) => {
      if (left === chosen.at || left === firstOf(chosen).at || models[left]!.quality === best) return true;
      const rest = indexes.filter((at) => at !== left);
      return rest[choose(cheap, null, 'usual', candidatesOf(models, rest))!.at] === chosen.at;
    });
  },
};

/** Other ways to choose, each with the law that rejects it. */
const MUTANTS: Readonly<Record<string, { readonly law: string; readonly choose: Choose }>> = {
  'looks only at its own margin': {
    law: 'a hard request never gets a worse model than a usual one',
    choose: (ladder, _, name, candidates) =>
      laddered(
        { ...ladder, margins: { usual: ladder.margins[name], strong: ladder.margins[name] } },
        null,
        'usual',
        candidates,
      ),
  },
  'ignores the selector that limits it': {
    law: 'auto-cheap never costs more than auto, and auto-fast is never slower',
    choose: (ladder, _, name, candidates) => laddered(ladder, null, name, candidates),
  },
  'takes the first of the order without a look at the estimates of the request': {
    law: 'no chosen model is worse than another in everything',
    choose: (ladder, limiting, name, candidates) => {
      const choice = laddered(ladder, limiting, name, candidates);
      return choice && firstOf(choice);
    },
  },
  'takes the first model of the catalog': {
    law: 'the order of the catalog changes nothing',
    choose: () => ({ at: 0, by: 'first', before: null }),
  },
  'measures the margin from the mean quality': {
    law: 'a model outside of the margin changes nothing',
    choose: (ladder, limiting, name, candidates) => {
      const mean = candidates.quality.reduce((sum, one) => sum + one, 0) / candidates.n;
      const quality = candidates.quality.map((one) => Math.min(one, mean));
      return laddered(ladder, limiting, name, { ...candidates, quality });
    },
  },
};

const held = (choose: Choose, law: string) =>
  fc.property(catalog, margins, (models, given) => LAWS[law]!(choose, models, given));

describe('a ladder', () => {
  for (const law of Object.keys(LAWS)) test(law, () => fc.assert(held(laddered, law), tries(law, 500, 200_000)));

  test('escalates to a better model that no other dominates, or to none', () => {
    fc.assert(
      fc.property(catalog, margins, fc.nat(), (models, given, any) => {
        const failed = any % models.length;
        const auto = autoOf(models, given);
        return [auto, cheapOf(models, given), fastOf(models, given)].every((ladder) => {
          const at = escalated(ladder, ladder.limit ? auto : null, candidatesOf(models), failed);
          return at < 0 || (models[at]!.quality > models[failed]!.quality && !isDominated(models[at]!, models));
        });
      }),
      tries('a ladder escalates to a better model that no other dominates, or to none', 2_000, 200_000),
    );
  });

  for (const [name, { law, choose }] of Object.entries(MUTANTS)) {
    test(`the laws reject a choice that ${name}`, () => {
      expect(fc.check(held(choose, law), { numRuns: 5_000, seed: 1 }).failed).toBe(true);
    });
  }
});
