import type { Static } from '@sinclair/typebox';
import { closed, whole, word } from '../../core/define/fields.ts';
import type { AbortBilling } from '../../core/money/abort-billing.ts';
import type { Report } from '../report/report.ts';
import { entryOf, type Tree, valueAt } from '../yaml/tree.ts';
import { camelKeys } from './camel-keys.ts';

export const AbortText = closed(
  'What the provider bills for an answer that the gateway aborts. Default: what the adapter declares, in most cases `unknown`.',
  {
    bills: word(
      {
        stops: 'Only the tokens that it wrote before it noticed the abort.',
        whole: 'The whole answer, as if it had not been aborted.',
        unknown: 'Any of that.',
      },
      'How the provider bills an aborted answer. With `stops` and `reports: each`, Signalbox reserves money in steps as an answer grows. Otherwise it reserves the worst case at once.',
      'stops',
    ),
    reports: word(
      {
        each: 'With each event of a stream, or nearly each.',
        end: 'At the end of an answer.',
      },
      'When the provider reports usage. With `bills: stops` and `reports: each`, Signalbox reserves money in steps as an answer grows.',
      { default: 'end', example: 'each' },
    ),
    margin_tokens: whole(
      'With `bills: stops`: the most output tokens that the provider may have written and not yet sent.',
      { minimum: 0, maximum: 1_000_000, default: 64 },
    ),
    margin_ms: whole('With `bills: stops`: milliseconds until the provider notices the abort and stops.', {
      minimum: 0,
      maximum: 60_000,
      default: 250,
    }),
  },
);
export type AbortText = Static<typeof AbortText>;

/** Reads `after_abort`; undefined if it is not stated. */
export function readAbortBilling(text: AbortText | undefined): AbortBilling | undefined {
  if (!text) return undefined;
  const { bills, ...ofStops } = text;
  return bills === 'stops' ? { bills, ...camelKeys(ofStops) } : { bills };
}

const OF_STOPS = ['reports', 'margin_tokens', 'margin_ms'];

/**
 * Warns about keys that have an effect only for a service that stops after an abort.
 * @param owner the provider or endpoint
 * @param path path of the owner, for messages
 */
export function reviewAbortBilling(owner: Tree, path: string, text: AbortText | undefined, report: Report): void {
  const tree = valueAt(owner, 'after_abort');
  if (!tree || !text || text.bills === 'stops') return;
  for (const key of OF_STOPS) {
    const entry = entryOf(tree, key);
    if (!entry) continue;
    const message = `\`${path}.after_abort.${key}\` has no effect with \`bills: ${text.bills}\``;
    report.add('after-abort-idle', entry.place, message, { hint: 'remove the key, or state `bills: stops`' });
  }
}
