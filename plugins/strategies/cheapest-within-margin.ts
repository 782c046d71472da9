import { defineStrategy } from 'signalbox/plugin';
import { marginOptions, preferWithin } from './margin.ts';

/** The cheapest of the models that are good enough; when none but one is, the better one. */
export const cheapestWithinMargin = defineStrategy({
  name: 'cheapest-within-margin',
  status: 'stable',
  options: marginOptions(0.12, 'The cheapest of the models that are good enough.'),
  prepare: (options) => preferWithin(options, { name: 'cost', half: ({ costReference }) => costReference }),
});
