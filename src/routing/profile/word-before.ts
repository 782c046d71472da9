import { FOLDED, GAP, MARK } from './letters.ts';
import { patternsOf } from './lexicon/data.ts';
import words from './lexicon/small-words.json' with { type: 'json' };

/** The maximum number of characters that are read of the word. */
const WORD_LENGTH = 24;

/** Returns the word before a position in lower case; '' for none. */
export function wordBefore(text: string, at: number): string {
  let end = at - 1;
  while (end >= 0 && FOLDED[text.charCodeAt(end)] === GAP) end--;
  let from = end;
  while (from >= 0 && end - from < WORD_LENGTH && FOLDED[text.charCodeAt(from)]! > MARK) from--;
  return text.slice(from + 1, end + 1).toLowerCase();
}

const NO_PREPOSITIONS: ReadonlySet<string> = new Set(patternsOf(words.lists.no_prepositions));

/** Returns whether the word before is a short preposition, such as "in", "auf" and "en" before the target language of a translation. */
export function isPreposition(before: string, next: number): boolean {
  if (next >= 0x250) return true;
  return before.length > 0 && before.length <= 5 && !NO_PREPOSITIONS.has(before);
}
