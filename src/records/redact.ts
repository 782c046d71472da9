import type { Redaction } from '../core/content.ts';
import { scrub } from '../telemetry/secrets.ts';
import { cardsIn, emailsIn, ibansIn, ipsIn, phonesIn, type Span } from './personal.ts';

/**
 * Finders of what is taken out, in the order in which they are asked: what is more certain comes first. Each takes
 * time in proportion to the text, whatever it holds.
 */
const FINDERS: readonly (readonly [Exclude<Redaction, 'secret'>, (text: string) => readonly Span[]])[] = [
  ['email', emailsIn],
  ['iban', ibansIn],
  ['card', cardsIn],
  ['ip', ipsIn],
  ['phone', phonesIn],
];

/** What is taken out can bring something to light beside it; a text that has so much of that was made to. */
const ROUNDS_MAX = 8;
const GIVEN_UP = '[redacted]';

/** A text in which everything of these kinds is replaced by its kind in brackets. Doing it again changes nothing. */
export function redact(text: string, kinds: readonly Redaction[]): string {
  let before = text;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const after = redactOnce(before, kinds);
    if (after === before) return after;
    before = after;
  }
  return GIVEN_UP;
}

function redactOnce(text: string, kinds: readonly Redaction[]): string {
  let out = kinds.includes('secret') ? scrub(text) : text;
  for (const [kind, find] of FINDERS) if (kinds.includes(kind)) out = without(out, find(out), `[${kind}]`);
  return out;
}

/** Spans are in order and do not overlap. */
function without(text: string, spans: readonly Span[], label: string): string {
  if (spans.length === 0) return text;
  const pieces: string[] = [];
  let kept = 0;
  for (const [from, to] of spans) {
    pieces.push(text.slice(kept, from), label);
    kept = to;
  }
  pieces.push(text.slice(kept));
  return pieces.join('');
}
