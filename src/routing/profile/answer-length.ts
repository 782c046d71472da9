import file from './lexicon/answers.json' with { type: 'json' };
import { Words } from './words.ts';

/** The most numbers of a text that are read. */
const NUMBERS_MAX = 24;
const TOKENS_MAX = 1_000_000;
/** The tokens of "in one word". */
const WORD_MIN = 4;
const LOOK_AHEAD = 24;

const NUMBER = /\d{1,3}(?:[.,  ]\d{3})+(?!\d)|\d+(?:[.,]\d+)?/y;
/** The units of a length, each in a group. One short word may be between: "2 short paragraphs". */
const UNIT = new RegExp(
  `[\\s-]{0,2}(?:\\p{L}{3,6} )?(?:${Object.values(file.units)
    .map(({ words }) => `(${words.replaceAll(' ', '|').replaceAll('_', ' ')})`)
    .join('|')})`,
  'iuy',
);
const UNIT_TOKENS = Object.values(file.units).map(({ tokens }) => tokens);

/** A word of a list, by its hash. */
const hashesOf = (list: string): number[] =>
  list.split(' ').flatMap((word) => {
    const words = new Words().read(word);
    return words.size === 1 ? words.hashes[0]! : [];
  });
const NUMERALS: ReadonlyMap<number, number> = new Map(
  Object.entries(file.numerals).flatMap(([value, list]) =>
    hashesOf(list).map((hash) => [hash, Number(value)] as const),
  ),
);
/** Words before a number that limits the answer, as in "in 3 sentences", not "the first 3 words". */
const LIMITS: ReadonlySet<number> = new Set(hashesOf(file.limits));

/** Whether a number may begin with a code unit, so that few words are matched with `NUMBER`. */
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** A length of the answer that a text states, in tokens; nulls for none. */
export interface StatedLength {
  /** The largest number of units. */
  readonly counted: number | null;
  /** The largest number of units after a word such as "in" or "at most". */
  readonly limited: number | null;
}

/** Reads numbers with a unit, such as "200 words" and "in zwei Sätzen". @param words of the text */
export function statedLengthOf(text: string, { hashes, from, to, size }: Words): StatedLength {
  let counted: number | null = null;
  let limited: number | null = null;
  let end = 0;
  for (let at = 0, numbers = 0; at < size && numbers < NUMBERS_MAX; at++) {
    const start = from[at]!;
    if (start < end) continue;
    let number = NUMERALS.get(hashes[at]!);
    end = to[at]!;
    if (number === undefined) {
      if (!isDigit(text.charCodeAt(start))) continue;
      NUMBER.lastIndex = start;
      const digits = NUMBER.exec(text)?.[0];
      if (digits === undefined) continue;
      end = start + digits.length;
      number = Number(/[.,  ]\d{3}(?!\d)/.test(digits) ? digits.replace(/\D/g, '') : digits.replace(',', '.'));
    }
    numbers++;
    UNIT.lastIndex = 0;
    const unit = UNIT.exec(text.slice(end, end + LOOK_AHEAD))?.findIndex(
      (group, nth) => nth > 0 && group !== undefined,
    );
    if (unit === undefined) continue;
    const tokens = Math.max(WORD_MIN, Math.min(TOKENS_MAX, Math.ceil(number * UNIT_TOKENS[unit - 1]!)));
    counted = Math.max(tokens, counted ?? 0);
    if (at > 0 && LIMITS.has(hashes[at - 1]!)) limited = Math.max(tokens, limited ?? 0);
  }
  return { counted, limited };
}
