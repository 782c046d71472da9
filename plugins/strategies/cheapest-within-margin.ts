import { defineStrategy } from 'signalbox/plugin';
import { marginOptions, preferWithin } from './margin.ts';

/** The cheapest of the models whose quality is within a margin of the best. */
export const cheapestWithinMargin = defineStrategy({
  name: 'cheapest-within-margin',
  status: 'stable',
  options: marginOptions(0.12, 'The cheapest of the models that are good enough.'),
  prepare: (options) => preferWithin(options, { name: 'cost', half: ({ costReference }) => costReference }),
});
