import { defineStrategy, Type } from 'signalbox/plugin';

const weight = (value: number, of: string) =>
  Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: value,
    description: `How much ${of} counts against the other two.`,
  });

/**
 * `U = w_q·Q − w_c·C/(v·C_ref) − w_l·L/T`: the operator's balance of quality, cost and latency.
 * Only the ratios of the weights count.
 */
export const auto = defineStrategy({
  name: 'auto',
  status: 'stable',
  options: Type.Object(
    {
      quality: weight(0.6, 'quality'),
      cost: weight(0.3, 'cost'),
      latency: weight(0.1, 'latency'),
      patience_ms: Type.Number({
        exclusiveMinimum: 0,
        maximum: 86_400_000,
        default: 20_000,
        description: 'T: the wait, in ms, that weighs as much as a whole good answer.',
      }),
    },
    { additionalProperties: false, description: 'Weighs quality, cost and latency by your own balance.' },
  ),
  prepare(options) {
    // By the largest first, then by the sum: scaling all three leaves every bit of the result as it was.
    const largest = Math.max(options.quality, options.cost, options.latency);
    if (largest === 0) throw new Error('at least one of quality, cost and latency must be above 0');
    const raw = [options.quality / largest, options.cost / largest, options.latency / largest] as const;
    const sum = raw[0] + raw[1] + raw[2];
    const [wq, wc, wl] = [raw[0] / sum, raw[1] / sum, raw[2] / sum];
    const patience = options.patience_ms;
    return {
      reason: 'balanced',
      score({ n, quality, cost, latency, costReference }, out) {
        for (let i = 0; i < n; i++) {
          out[i] = wq * quality[i]! - (wc * cost[i]!) / costReference - (wl * latency[i]!) / patience;
        }
      },
      parts: ({ quality, cost, latency, costReference }, at) => ({
        quality: wq * quality[at]!,
        cost: -(wc * cost[at]!) / costReference,
        latency: -(wl * latency[at]!) / patience,
      }),
    };
  },
});
