import type { Redaction } from '../../core/policy/content.ts';
import { cardsIn, emailsIn, ibansIn, ipsIn, phonesIn, type TextSpan } from '../../core/text/personal.ts';
import { scrub } from '../../host/telemetry/secrets.ts';

/** The finders in the order of their certainty, the most certain first. Each takes linear time for any text. */
const FINDERS: readonly (readonly [Exclude<Redaction, 'secret'>, (text: string) => readonly TextSpan[]])[] = [
  ['email', emailsIn],
  ['iban', ibansIn],
  ['card', cardsIn],
  ['ip', ipsIn],
  ['phone', phonesIn],
];

/** The most rounds of replacement. Each replacement can reveal another match; a text that needs this many rounds was constructed for it. */
const ROUNDS_MAX = 8;
const FULLY_REDACTED = '[redacted]';

/**
 * Replaces all personal data and secrets of the given kinds in a text with the name of the kind in brackets. A second call changes nothing.
 */
export function redact(text: string, kinds: readonly Redaction[]): string {
  let before = text;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const after = redactOnce(before, kinds);
    if (after === before) return after;
    before = after;
  }
  return FULLY_REDACTED;
}

function redactOnce(text: string, kinds: readonly Redaction[]): string {
  let out = kinds.includes('secret') ? scrub(text) : text;
  for (const [kind, find] of FINDERS) if (kinds.includes(kind)) out = replaceSpans(out, find(out), `[${kind}]`);
  return out;
}

/** @param spans in order, without overlap */
function replaceSpans(text: string, spans: readonly TextSpan[], label: string): string {
  if (spans.length === 0) return text;
  const pieces: string[] = [];
  let last = 0;
  for (const [from, to] of spans) {
    pieces.push(text.slice(last, from), label);
    last = to;
  }
  pieces.push(text.slice(last));
  return pieces.join('');
}
