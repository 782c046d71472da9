import { defineStrategy } from 'signalbox/plugin';
import { weigh } from './balance.ts';
import { emphasisOptions, fromAuto, withDefaultBalance } from './emphasis.ts';

/** `auto` with its latency weight multiplied: on the same candidates it is never slower than `auto`. */
export const autoFast = defineStrategy({
  name: 'auto-fast',
  status: 'stable',
  options: emphasisOptions(
    12,
    'latency',
    'The balance of `auto` with latency weighing more: never slower than `auto`.',
  ),
  inherits: fromAuto,
  formerly: { options: ['quality_margin'], by: 'fastest-within-margin' },
  prepare({ emphasis, ...options }) {
    const balance = withDefaultBalance(options);
    return weigh({ ...balance, latency: balance.latency * emphasis }, { reason: 'latency', tieBreak: 'latency' });
  },
});
