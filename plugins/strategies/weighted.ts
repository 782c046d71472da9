import { type CallerWeights, defineStrategy, Type } from 'signalbox/plugin';
import { flooredAt, qualityFloor } from './weights.ts';

/** For requests without weights, which pin their model. */
const EVEN: CallerWeights = { quality: 0.5, cost: 0.5 };

/**
 * `U = w_q·Q − w_c·C/(v·C_ref)` with the caller's weights: another percentage point of quality is worth up to
 * `0.01·v·w_q/w_c` reference costs. Independent of the other candidates, so adding a model never reorders the rest.
 */
export const weighted = defineStrategy({
  name: 'weighted',
  status: 'stable',
  options: Type.Object(
    { quality_floor: qualityFloor },
    { additionalProperties: false, description: "Weighs cost and quality by the caller's weights, or evenly." },
  ),
  prepare: ({ quality_floor: floor }) => ({
    reason: 'weighted',
    ...flooredAt(floor),
    score({ n, quality, cost, costReference }, out, weights = EVEN) {
      for (let i = 0; i < n; i++) out[i] = weights.quality * quality[i]! - (weights.cost * cost[i]!) / costReference;
    },
    parts: ({ quality, cost, costReference }, at, weights = EVEN) => ({
      quality: weights.quality * quality[at]!,
      cost: -(weights.cost * cost[at]!) / costReference,
    }),
  }),
});
