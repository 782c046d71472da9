import { defineStrategy } from 'signalbox/plugin';
import { marginOptions, preferWithin } from './margin.ts';

/** Latency that scores half, in ms. */
const HALF_MS = 20_000;

/** The fastest of the models whose quality is within a margin of the best. */
export const fastestWithinMargin = defineStrategy({
  name: 'fastest-within-margin',
  status: 'stable',
  options: marginOptions(0.08, 'The fastest of the models that are good enough.'),
  prepare: (options) => preferWithin(options, { name: 'latency', half: () => HALF_MS }),
});
