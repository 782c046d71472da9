import { closed, figure, whole, word } from '../../core/define/fields.ts';
import { defineSettings, ORDINARY } from '../define/section.ts';
import { camelKeys } from '../schema/camel-keys.ts';

const LedgerText = closed('How Signalbox handles reserved money (holds).', {
  contention_wait_ms: whole(
    'Milliseconds that a request waits if other requests hold the money that it needs from a budget.',
    { minimum: 0, maximum: 60_000, default: 20_000 },
  ),
  whole_hold_share: figure(
    'Share of the free money up to which the worst case of a request is reserved at once. Larger holds grow in steps with the answer, if `after_abort` allows it.',
    { minimum: 0, maximum: 1, default: 0.05 },
  ),
  on_crash: word(
    {
      charge: 'The whole hold is charged, because the provider may have been paid.',
      release: 'The hold is released, and nothing is charged.',
    },
    'What happens to holds that a crash left open. `charge`: they are charged in full. `release`: they are released.',
    { default: 'charge', example: 'release' },
  ),
});

/** The section `ledger`. */
export const LEDGER = defineSettings({ name: 'ledger', text: LedgerText, guard: ORDINARY, read: camelKeys });

/** The section `default_weights`. */
export const DEFAULT_WEIGHTS = defineSettings({
  name: 'default_weights',
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
