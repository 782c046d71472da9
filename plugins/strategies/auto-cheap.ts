import { defineStrategy } from 'signalbox/plugin';
import { weigh } from './balance.ts';
import { emphasisOptions, fromAuto, withDefaultBalance } from './emphasis.ts';

/** `auto` with its cost weight multiplied: on the same candidates it never costs more than `auto`. */
export const autoCheap = defineStrategy({
  name: 'auto-cheap',
  status: 'stable',
  options: emphasisOptions(16, 'cost', 'The balance of `auto` with cost weighing more: never dearer than `auto`.'),
  inherits: fromAuto,
  formerly: { options: ['quality_margin'], by: 'cheapest-within-margin' },
  prepare({ emphasis, ...options }) {
    const balance = withDefaultBalance(options);
    return weigh({ ...balance, cost: balance.cost * emphasis }, { reason: 'cost', tieBreak: 'cost' });
  },
});
