import { defineStrategy, Type } from 'signalbox/plugin';
import { DEFAULTS, FORMER_DEFAULTS, patience, qualityFloor, rawWeight, weigh } from './weights.ts';

const weight = (of: 'quality' | 'cost' | 'latency') => ({
  ...rawWeight(`How much ${of} counts compared with the other two.`),
  default: DEFAULTS[of],
  formerDefault: FORMER_DEFAULTS[of],
});

/**
 * `U = w_q·Q − w_c·C/(h·v·C_ref) − w_l·L/(h·T)`: the operator's weights applied to quality, cost and latency. `weigh` explains the symbols.
 * Only the ratios of the weights matter.
 */
export const auto = defineStrategy({
  name: 'auto',
  status: 'stable',
  options: Type.Object(
    {
      quality: weight('quality'),
      cost: weight('cost'),
      latency: weight('latency'),
      patience_ms: {
        ...patience('The wait, in ms, that weighs as much as a good answer.'),
        default: DEFAULTS.patience_ms,
        formerDefault: FORMER_DEFAULTS.patience_ms,
      },
      quality_floor: qualityFloor,
    },
    { additionalProperties: false, description: 'Balances quality, cost and latency according to your weights.' },
  ),
  prepare: (options) => weigh(options, { reason: 'balanced' }),
});
