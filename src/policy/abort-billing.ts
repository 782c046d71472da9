import type { AbortBilling } from '../core/abort-billing.ts';
import type { Report } from './report.ts';
import type { AbortText } from './schema-abort.ts';
import { entryOf, type Tree, valueAt } from './tree.ts';

/** Reads `after_abort`; undefined where it is not stated. */
export function readAbortBilling(text: AbortText | undefined): AbortBilling | undefined {
  if (!text) return undefined;
  const { bills } = text;
  if (bills !== 'stops') return { bills };
  return { bills, reports: text.reports, marginTokens: text.margin_tokens, marginMs: text.margin_ms };
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
