import { type Candidates, defineStrategy, Type } from 'signalbox/plugin';

/** The criterion that orders the models that are good enough. */
interface Criterion {
  readonly strategy: string;
  readonly description: string;
  /** The margin if the policy states none. */
  readonly margin: number;
  /** Returns the amount that scores 1.5. The amount affects scores but not their order. */
  half(candidates: Candidates): number;
}

/** In floating point, 0.9 − 0.08 can differ in its last bit, so the comparison with the margin needs a tolerance. */
const SLACK = 1e-9;

/**
 * Creates a strategy that gives models that are good enough a score in (1, 2]: `1 + half / (half + criterion)`. Models that are not good
 * enough get their quality as a score in [0, 1].
 */
const withinMargin = (of: 'cost' | 'latency', { strategy, description, margin, half: halfOf }: Criterion) =>
  defineStrategy({
    name: strategy,
    status: 'stable',
    options: Type.Object(
      {
        quality_margin: Type.Number({
          minimum: 0,
          maximum: 1,
          default: margin,
          description: 'How far below the best eligible quality a model may be.',
        }),
        quality_enough: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 1,
            description: 'Quality that is always good enough, even if it is further below the best.',
          }),
        ),
        quality_floor: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 1,
            isFormer: true,
            description: 'The name of `quality_enough` in version 1. Version 2 refuses it.',
          }),
        ),
      },
      { additionalProperties: false, description },
    ),
    prepare({ quality_margin, quality_enough: own, quality_floor: former }) {
      if (own !== undefined && former !== undefined)
        throw new Error('`quality_enough` and `quality_floor` mean the same, so state only `quality_enough`');
      const always = own ?? former ?? Number.POSITIVE_INFINITY;
      const goodEnough = ({ n, quality }: Candidates): number => {
        let best = 0;
        for (let i = 0; i < n; i++) best = Math.max(best, quality[i]!);
        return Math.min(best - quality_margin, always) - SLACK;
      };
      return {
        reason: 'margin',
        score(candidates, out) {
          const { n, quality, [of]: criterion } = candidates;
          const half = halfOf(candidates);
          const enough = goodEnough(candidates);
          for (let i = 0; i < n; i++) {
            out[i] = quality[i]! >= enough ? 1 + half / (half + criterion[i]!) : quality[i]!;
          }
        },
        parts(candidates, at): Record<string, number> {
          const { quality, [of]: criterion } = candidates;
          if (quality[at]! < goodEnough(candidates)) return { quality: quality[at]! };
          const half = halfOf(candidates);
          return { 'good enough': 1, [of]: half / (half + criterion[at]!) };
        },
      };
    },
  });

/** Chooses the cheapest of the models whose quality is within a margin of the best. */
export const cheapestWithinMargin = withinMargin('cost', {
  strategy: 'cheapest-within-margin',
  description: 'The cheapest of the models that are good enough.',
  margin: 0.12,
  half: ({ costReference }) => costReference,
});

/** The latency in ms that scores 1.5. */
const HALF_MS = 20_000;

/** Chooses the fastest of the models whose quality is within a margin of the best. */
export const fastestWithinMargin = withinMargin('latency', {
  strategy: 'fastest-within-margin',
  description: 'The fastest of the models that are good enough.',
  margin: 0.08,
  half: () => HALF_MS,
});
