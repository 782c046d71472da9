import { type Candidates, Type } from 'signalbox/plugin';

/** What `auto-fast` and `auto-cheap` share: good enough first, then the criterion that was asked for. */
export const marginOptions = (margin: number) =>
  Type.Object(
    {
      quality_margin: Type.Number({
        minimum: 0,
        maximum: 1,
        default: margin,
        description: 'How far below the best eligible quality a model may be and still count as good enough.',
      }),
      quality_floor: Type.Optional(
        Type.Number({ minimum: 0, maximum: 1, description: 'A quality that is good enough whatever the best is.' }),
      ),
    },
    { additionalProperties: false },
  );

export interface Margin {
  readonly quality_margin: number;
  readonly quality_floor?: number;
}

/** Keeps 0.9 − 0.08 from falling outside a margin of 0.08 by the last bit of a double. */
const SLACK = 1e-9;

/**
 * Scores the good enough in (1, 2] by `half / (half + criterion)`, which falls with the criterion
 * without ever reaching the rest, and the rest in [0, 1] by their quality. `half` is the amount
 * that scores 1.5: it spreads the scores and orders nobody.
 */
export function scoreWithin(
  { n, quality }: Candidates,
  { quality_margin, quality_floor = Number.POSITIVE_INFINITY }: Margin,
  criterion: Float64Array,
  half: number,
  out: Float64Array,
): void {
  let best = 0;
  for (let i = 0; i < n; i++) best = Math.max(best, quality[i]!);
  const enough = Math.min(best - quality_margin, quality_floor) - SLACK;
  for (let i = 0; i < n; i++) {
    out[i] = quality[i]! >= enough ? 1 + half / (half + criterion[i]!) : quality[i]!;
  }
}
