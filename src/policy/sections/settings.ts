import { closed, figure } from '../../core/define/fields.ts';
import { LedgerText } from '../schema/budgets.ts';
import { camelKeys } from '../schema/camel-keys.ts';
import { defineSettings, ORDINARY } from './section-definition.ts';

/** The section `ledger`. */
export const LEDGER = defineSettings({ text: LedgerText, guard: ORDINARY, read: camelKeys });

/** The section `default_weights`. */
export const DEFAULT_WEIGHTS = defineSettings({
  text: closed('Weights that apply if the `route_strategy` of a request leaves one out. Only their ratio matters.', {
    cost: figure('Weight of cost. Only the ratio of the weights matters.', { minimum: 0, default: 0.3 }),
    quality: figure('Weight of quality. Only the ratio of the weights matters.', { minimum: 0, default: 0.7 }),
  }),
  guard: ORDINARY,
  read(weights, { place }, report) {
    if (weights.cost === 0 && weights.quality === 0) {
      const expected = 'at least one weight above 0';
      report.add('out-of-range', place, 'the weights cannot both be 0', { expected });
    }
    return weights;
  },
});
