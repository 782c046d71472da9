import { defineStrategy, Type } from 'signalbox/plugin';
import { DEFAULTS, patience, qualityFloor, rawWeight, weigh } from './balance.ts';

const weight = (value: number, of: string) => ({
  ...rawWeight(`How much ${of} counts against the other two.`),
  default: value,
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
      quality: weight(DEFAULTS.quality, 'quality'),
      cost: weight(DEFAULTS.cost, 'cost'),
      latency: weight(DEFAULTS.latency, 'latency'),
      patience_ms: {
        ...patience('Wait, in ms, that weighs as much as a good answer.'),
        default: DEFAULTS.patience_ms,
      },
      quality_floor: qualityFloor,
    },
    { additionalProperties: false, description: 'Weighs quality, cost and latency by your own balance.' },
  ),
  prepare: (options) => weigh(options, { reason: 'balanced' }),
});
