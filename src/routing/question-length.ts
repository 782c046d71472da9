import type { Turn } from '../core/request/conversation.ts';
import { questionOf } from './texts.ts';

/** The maximum length of text that is read, in UTF-16 code units. The maximum length limits the time. */
const CHARS_MAX = 4_000;

/**
 * The mean and standard deviation of `log(1 + tokens)` over 7,682 questions of two public benchmarks (MMLU-Pro and the mixed questions of
 * LLMRouter). The mean and the standard deviation only set the scale.
 */
const LENGTH_MEAN = 4.21;
const LENGTH_DEVIATION = 1.213;
/** The maximum distance from the mean, in standard deviations. */
const DEVIATIONS_MAX = 3;
/** Lengths are rounded to 1/10,922 of a deviation, so that they equal the lengths that earlier versions stored. */
const STEPS_PER_DEVIATION = 32_766 / DEVIATIONS_MAX;

/** Returns the length of the last question in standard deviations above the mean length of questions, -3 to 3; null if there is no text. */
export function questionLengthOf(turns: readonly Turn[]): number | null {
  const question = questionOf(turns);
  return question === null ? null : textLength(question);
}

/** Returns the length of a text on a logarithmic scale, where equal differences mean equal ratios. */
function textLength(text: string): number {
  const off = (Math.log(1 + countTokens(text)) - LENGTH_MEAN) / LENGTH_DEVIATION;
  const deviations = Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
  return (0 | Math.round(deviations * STEPS_PER_DEVIATION)) / STEPS_PER_DEVIATION;
}

/** The kinds of code units. */
const [SPACE, SINGLE, DIGIT, LETTER] = [0, 1, 2, 3] as const;

/** Counts tokens: runs of letters, runs of digits, and single other characters. */
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

/** `TABLE_SIZE` is the first code unit without an entry in the table: ideographs, kana, symbols and surrogates have none. */
const TABLE_SIZE = 0x2000;
const KINDS: Uint8Array = Uint8Array.from({ length: TABLE_SIZE }, (_, code) => {
  const letter = String.fromCharCode(code);
  if (/\s/.test(letter)) return SPACE;
  if (/\p{Nd}/u.test(letter)) return DIGIT;
  return isUnspaced(code) || !/[\p{L}\p{M}]/u.test(letter) ? SINGLE : LETTER;
});

/**
 * Whether a script has no spaces between words: Thai, Lao, Tibetan, Burmese and Khmer. Without this test, a whole sentence in such a script
 * would count as one word.
 */
function isUnspaced(code: number): boolean {
  return (code >= 0x0e00 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800);
}

/** Whether a code unit is a wide space, a line separator or the byte order mark. */
function isWideSpace(code: number): boolean {
  return code <= 0x200b || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x3000 || code === 0xfeff;
}

function kindOf(code: number): number {
  if (code < TABLE_SIZE) return KINDS[code]!;
  return isWideSpace(code) ? SPACE : SINGLE;
}
