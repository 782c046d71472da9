import type { AbortBilling } from '../core/abort-billing.ts';
import type { AbortText } from './schema-abort.ts';

/** Reads `after_abort`; undefined where it is not stated. */
export function readAbortBilling(text: AbortText | undefined): AbortBilling | undefined {
  if (!text) return undefined;
  const { bills } = text;
  if (bills !== 'stops') return { bills };
  return { bills, reports: text.reports, marginTokens: text.margin_tokens, marginMs: text.margin_ms };
}
