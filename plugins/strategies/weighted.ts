import { type CallerWeights, defineStrategy, Type } from 'signalbox/plugin';

/** The weights for requests without weights. */
const EVEN: CallerWeights = { quality: 0.5, cost: 0.5 };

/** v: how many references a good answer is worth. */
const ANSWER_WORTH = 20;

/** T: the wait in ms that weighs as much as a good answer. */
const PATIENCE_MS = 60_000;

/**
 * `U = w_q·Q − w_c·C/(v·R) − w_l·L/T` with the caller's weights and the reference R of the request: without a weight on latency, another
 * percentage point of quality is worth up to `0.01·v·w_q/w_c` references, at every size of a request. The score does not depend on the other
 * candidates, so adding a model never reorders the rest.
 */
export const weighted = defineStrategy({
  name: 'weighted',
  status: 'stable',
  options: Type.Object(
    {},
    {
      additionalProperties: false,
      description:
        "Balances cost, quality and latency according to the caller's weights, or cost and quality equally if the caller sends none.",
    },
  ),
  prepare: () => ({
    reason: 'weighted',
    score({ n, quality, cost, latency, reference }, out, weights = EVEN) {
      const worth = ANSWER_WORTH * reference;
      for (let i = 0; i < n; i++) out[i] = weights.quality * quality[i]! - (weights.cost * cost[i]!) / worth;
      if (weights.latency === undefined) return;
      for (let i = 0; i < n; i++) out[i]! -= (weights.latency * latency[i]!) / PATIENCE_MS;
    },
    parts: ({ quality, cost, latency, reference }, at, weights = EVEN) => ({
      quality: weights.quality * quality[at]!,
      cost: -(weights.cost * cost[at]!) / (ANSWER_WORTH * reference),
      ...(weights.latency !== undefined && { latency: -(weights.latency * latency[at]!) / PATIENCE_MS }),
    }),
  }),
});
