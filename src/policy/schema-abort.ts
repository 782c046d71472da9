import type { Static } from '@sinclair/typebox';
import type { AbortBilling } from '../core/abort-billing.ts';
import { camelKeys } from './camel-keys.ts';
import type { Report } from './report.ts';
import { closed, integer, oneOfExplained } from './schema-parts.ts';
import { entryOf, type Tree, valueAt } from './tree.ts';

export const AbortText = closed('What it bills of an aborted answer. Default: by the adapter, mostly `unknown`.', {
  bills: oneOfExplained({
    means: {
      stops: 'What was written until it noticed.',
      whole: 'The whole answer, as if nothing had happened.',
      unknown: 'Any of that.',
    },
    examples: ['stops'],
    description: 'What it bills. A hold grows with its answer only under `stops`.',
  }),
  reports: oneOfExplained({
    means: {
      each: 'With each event of a stream, or nearly.',
      end: 'At the end of an answer.',
    },
    default: 'end',
    examples: ['each'],
    description: 'When it reports usage. A hold grows only under `stops` with `each`.',
  }),
  margin_tokens: integer(
    { minimum: 0, maximum: 1_000_000, default: 64 },
    'With `stops`: output tokens that it may have written and not sent.',
  ),
  margin_ms: integer({ minimum: 0, maximum: 60_000, default: 250 }, 'With `stops`: milliseconds until it stops.'),
});
export type AbortText = Static<typeof AbortText>;

/** Reads `after_abort`; undefined where it is not stated. */
export function readAbortBilling(text: AbortText | undefined): AbortBilling | undefined {
  if (!text) return undefined;
  const { bills, ...ofStops } = text;
  return bills === 'stops' ? { bills, ...camelKeys(ofStops) } : { bills };
}

const OF_STOPS = ['reports', 'margin_tokens', 'margin_ms'];

/**
 * Warns of keys that only a service that stops can have.
 * @param owner the provider or endpoint
 * @param path of the owner, for messages
 */
export function reviewAbortBilling(owner: Tree, path: string, text: AbortText | undefined, report: Report): void {
  const tree = valueAt(owner, 'after_abort');
  if (!tree || !text || text.bills === 'stops') return;
  for (const key of OF_STOPS) {
    const entry = entryOf(tree, key);
    if (!entry) continue;
    const message = `\`${path}.after_abort.${key}\` has no effect with \`bills: ${text.bills}\``;
    report.add('after-abort-idle', entry.place, message, { hint: 'remove it, or state `bills: stops`' });
  }
}
