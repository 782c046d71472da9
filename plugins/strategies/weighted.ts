import { type CallerWeights, defineStrategy, Type } from 'signalbox/plugin';
import { DEFAULTS, flooredAt, qualityFloor } from './weights.ts';

/** The weights for requests without weights, which name their model. */
const EVEN: CallerWeights = { quality: 0.5, cost: 0.5 };

/** The wait in ms that weighs as much as a good answer, as with `auto`. */
const PATIENCE_MS = DEFAULTS.patience_ms;

/**
 * `U = w_q·Q − w_c·C/(h·v·C_ref) − w_l·L/(h·T)` with the caller's weights, in the symbols of `weigh`: without a weight on latency, another
 * percentage point of quality is worth up to `0.01·h·v·w_q/w_c` reference costs. The score does not depend on the other candidates, so adding a model never reorders the rest.
 */
export const weighted = defineStrategy({
  name: 'weighted',
  status: 'stable',
  options: Type.Object(
    { quality_floor: qualityFloor },
    {
      additionalProperties: false,
      description:
        "Balances cost, quality and latency according to the caller's weights, or cost and quality equally if the caller sends none.",
    },
  ),
  prepare: ({ quality_floor: floor }) => ({
    reason: 'weighted',
    ...flooredAt(floor),
    score({ n, quality, cost, latency, costReference, qualityFactor = 1 }, out, weights = EVEN) {
      for (let i = 0; i < n; i++) out[i] = weights.quality * quality[i]! - (weights.cost * cost[i]!) / costReference;
      if (weights.latency === undefined) return;
      for (let i = 0; i < n; i++) out[i]! -= (weights.latency * latency[i]!) / (PATIENCE_MS * qualityFactor);
    },
    parts: ({ quality, cost, latency, costReference, qualityFactor = 1 }, at, weights = EVEN) => ({
      quality: weights.quality * quality[at]!,
      cost: -(weights.cost * cost[at]!) / costReference,
      ...(weights.latency !== undefined && {
        latency: -(weights.latency * latency[at]!) / (PATIENCE_MS * qualityFactor),
      }),
    }),
  }),
});
