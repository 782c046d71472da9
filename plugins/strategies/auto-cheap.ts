import { defineStrategy } from 'signalbox/plugin';
import { marginOptions, scoreWithin } from './margin.ts';

/** The cheapest of the models that are good enough; when none but one is, the better one. */
export const autoCheap = defineStrategy({
  name: 'auto-cheap',
  status: 'stable',
  options: marginOptions(0.12),
  prepare: (options) => ({
    reason: 'margin',
    score: (candidates, out) => scoreWithin(candidates, options, candidates.cost, candidates.costReference, out),
  }),
});
