import { SIGN } from './lexicon/lexicon.ts';

/** Tokens of one of these, in a language of many letters a token. */
const UNITS: Readonly<Record<number, number>> = {
  [SIGN.word_unit]: 1.5,
  [SIGN.sentence_unit]: 30,
  [SIGN.paragraph_unit]: 120,
  [SIGN.page_unit]: 700,
};
const WHOLE: Readonly<Record<number, number>> = {
  [SIGN.one_word]: 4,
  [SIGN.one_sentence]: 30,
  [SIGN.one_paragraph]: 120,
  [SIGN.brief]: 100,
};
const TOKENS_MAX = 1_000_000;

/** Output tokens that a word asks for, with the number before it (0 for none); null where it does not. */
export function asksFor(sign: number, number: number): number | null {
  const tokens = WHOLE[sign] ?? (number > 0 ? number * UNITS[sign]! : null);
  return tokens === null ? null : Math.min(TOKENS_MAX, Math.ceil(tokens));
}
