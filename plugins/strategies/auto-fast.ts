import { defineStrategy } from 'signalbox/plugin';
import { emphasisOptions, fromAuto, weighingOf } from './emphasis.ts';
import { weigh } from './weighing.ts';

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
    const weighing = weighingOf(options);
    return weigh({ ...weighing, latency: weighing.latency * emphasis }, { reason: 'latency', tieBreak: 'latency' });
  },
});
