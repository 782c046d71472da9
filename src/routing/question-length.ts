import type { Turn } from '../core/conversation.ts';
import { questionOf } from './texts.ts';

/** The maximum text length read, in UTF-16 code units, which bounds the time. */
const CHARS_MAX = 4_000;

/**
 * The mean and standard deviation of `log(1 + tokens)` over 7,682 questions of two public benchmarks (MMLU-Pro and the mixed questions
 * of LLMRouter). They only set the scale.
 */
const LENGTH_MEAN = 4.21;
const LENGTH_DEVIATION = 1.213;
/** The maximum distance from the mean, in standard deviations. */
const DEVIATIONS_MAX = 3;
/** Lengths come in steps of 1/10,922 of a deviation, so that they are the same as those that earlier versions stored. */
const STEPS_PER_DEVIATION = 32_766 / DEVIATIONS_MAX;

/** The length of the last question, in standard deviations above the mean of questions, -3 to 3; null without text. */
export function questionLengthOf(turns: readonly Turn[]): number | null {
  const question = questionOf(turns);
  return question === null ? null : textLength(question);
}

/** The length of a text on a scale where a difference means a ratio. */
function textLength(text: string): number {
  const off = (Math.log(1 + countTokens(text)) - LENGTH_MEAN) / LENGTH_DEVIATION;
  const deviations = Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
  return (0 | Math.round(deviations * STEPS_PER_DEVIATION)) / STEPS_PER_DEVIATION;
}

/** Kinds of code units. */
const [SPACE, SINGLE, DIGIT, LETTER] = [0, 1, 2, 3] as const;

/** Counts tokens: runs of letters, runs of digits and single other characters. */
function countTokens(text: string): number {
  const length = Math.min(text.length, CHARS_MAX);
  let tokens = 0;
  let before: number = SPACE;
  for (let at = 0; at < length; at++) {
    const kind = kindOf(text.charCodeAt(at));
    const isRun = kind === before && kind >= DIGIT;
    if (kind !== SPACE && !isRun) tokens++;
    before = kind;
  }
  return tokens;
}

/** Code units from here on are not in the table: ideographs, kana, symbols, surrogates. */
const TABLE_SIZE = 0x2000;
const KINDS: Uint8Array = Uint8Array.from({ length: TABLE_SIZE }, (_, code) => {
  const letter = String.fromCharCode(code);
  if (/\s/.test(letter)) return SPACE;
  if (/\p{Nd}/u.test(letter)) return DIGIT;
  return isUnspaced(code) || !/[\p{L}\p{M}]/u.test(letter) ? SINGLE : LETTER;
});

/** Thai, Lao, Tibetan, Burmese and Khmer have no spaces between words: a sentence would be one word. */
function isUnspaced(code: number): boolean {
  return (code >= 0x0e00 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800);
}

/** Wide spaces, line separators and the byte order mark. */
function isWideSpace(code: number): boolean {
  return code <= 0x200b || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x3000 || code === 0xfeff;
}

function kindOf(code: number): number {
  if (code < TABLE_SIZE) return KINDS[code]!;
  return isWideSpace(code) ? SPACE : SINGLE;
}
