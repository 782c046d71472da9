import { type CallerWeights, defineStrategy, Type } from 'signalbox/plugin';
import { flooredAt, qualityFloor } from './weighing.ts';

/** Of a request without weights: a pinned model, which nobody competes with. */
const EVEN: CallerWeights = { quality: 0.5, cost: 0.5 };

/**
 * `U = w_q·Q − w_c·C/(v·C_ref)`: the caller's weights over two criteria. One more percentage
 * point of quality is bought while it costs less than `0.01·v·w_q/w_c` reference costs. Linear in
 * cost and free of the other candidates, so adding a model never reorders the rest.
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
