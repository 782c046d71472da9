import { defineStrategy } from 'signalbox/plugin';
import { emphasisOptions, fromAuto, weighingOf } from './emphasis.ts';
import { weigh } from './weighing.ts';

/** `auto` with its cost weight multiplied: on the same candidates it never costs more than `auto`. */
export const autoCheap = defineStrategy({
  name: 'auto-cheap',
  status: 'stable',
  options: emphasisOptions(16, 'cost', 'The balance of `auto` with cost weighing more: never dearer than `auto`.'),
  inherits: fromAuto,
  formerly: { options: ['quality_margin'], by: 'cheapest-within-margin' },
  prepare({ emphasis, ...options }) {
    const weighing = weighingOf(options);
    return weigh({ ...weighing, cost: weighing.cost * emphasis }, { reason: 'cost', tieBreak: 'cost' });
  },
});
