import { type Candidates, type PreparedStrategy, Type } from 'signalbox/plugin';

/** Options of the margin strategies: models that are good enough come first, ordered by a criterion. */
export const marginOptions = (margin: number, description: string) =>
  Type.Object(
    {
      quality_margin: Type.Number({
        minimum: 0,
        maximum: 1,
        default: margin,
        description: 'How far below the best eligible quality a model may be.',
      }),
      quality_floor: Type.Optional(
        Type.Number({ minimum: 0, maximum: 1, description: 'Quality that is always good enough.' }),
      ),
    },
    { additionalProperties: false, description },
  );

interface MarginOptions {
  readonly quality_margin: number;
  readonly quality_floor?: number;
}

/** Orders the models that are good enough. */
interface Criterion {
  readonly name: 'cost' | 'latency';
  /** The amount that scores 1.5; it affects scores, not their order. */
  half(candidates: Candidates): number;
}

/** Keeps 0.9 − 0.08 from falling outside a margin of 0.08 by the last bit of a double. */
const SLACK = 1e-9;

/** Scores models that are good enough in (1, 2] by `1 + half / (half + criterion)`, and the rest in [0, 1] by quality. */
export function preferWithin(options: MarginOptions, { name, half: halfOf }: Criterion): PreparedStrategy {
  return {
    reason: 'margin',
    score(candidates, out) {
      const { n, quality, [name]: criterion } = candidates;
      const half = halfOf(candidates);
      const enough = goodEnough(candidates, options);
      for (let i = 0; i < n; i++) {
        out[i] = quality[i]! >= enough ? 1 + half / (half + criterion[i]!) : quality[i]!;
      }
    },
    parts(candidates, at): Record<string, number> {
      const { quality, [name]: criterion } = candidates;
      if (quality[at]! < goodEnough(candidates, options)) return { quality: quality[at]! };
      const half = halfOf(candidates);
      return { 'good enough': 1, [name]: half / (half + criterion[at]!) };
    },
  };
}

/** The least quality that is good enough. */
function goodEnough(
  { n, quality }: Candidates,
  { quality_margin, quality_floor = Number.POSITIVE_INFINITY }: MarginOptions,
): number {
  let best = 0;
  for (let i = 0; i < n; i++) best = Math.max(best, quality[i]!);
  return Math.min(best - quality_margin, quality_floor) - SLACK;
}
