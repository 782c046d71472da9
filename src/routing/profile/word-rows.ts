import { DIGIT, FOLDED, GAP, isUnspaced, MARK, STEM_LETTERS, stemOn } from './letters.ts';
import { ROW_BITS } from './word-table.ts';

/** The place of a text in the request. A word has other rows in each place, because it means something else there. */
export const PLACE = {
  question: 0x5bd1e995,
  order: 0x2c1b3c6d,
  system: 0x1b873593,
  material: 0x7feb352d,
  before: 0x3c6ef372,
  answer: 0x68e31da4,
  first: 0x2545f491,
  last: 0x4f6cdd1d,
} as const;
/** These numbers tell the beginning of a word, a pair of words and a fact about the form from a whole word. */
const STEM = 0x46ac12fd;
const PAIR = 0x165667b1;
const FACT = 0x3f84d5b5;
const DIGITS = 0x0d1f3a57;
const DIGITS_MAX = 5;
/** No letter before this one belongs to a script without spaces. */
const UNSPACED = 0x0e00;

const rowOf = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x9e3779b1) >>> (32 - ROW_BITS);

/** Collects the rows of words. All texts reuse one collector. */
export class WordRows {
  readonly #rows = new Int32Array(ROWS_MAX);
  size = 0;
  #last = 0;

  clear(): void {
    this.size = 0;
    this.#last = 0;
  }

  /** Adds the words of a range of a text. The first word makes no pair with a word before. */
  add(text: string, from: number, to: number, place: number): void {
    this.#last = 0;
    for (let at = from; at < to; at++) {
      const code = text.charCodeAt(at);
      const folded = FOLDED[code]!;
      if (folded > DIGIT && !isUnspaced(folded)) at = this.#letters(text, at, to, place) - 1;
      else if (folded === DIGIT) at = this.#digits(text, at, to, place) - 1;
      else if (code > 0x20 && folded !== MARK) this.#word(folded === GAP ? stemOn(PAIR, code) : folded, 0, place);
    }
  }

  /** Adds the word that begins at a position, and returns the position after it. */
  #letters(text: string, from: number, to: number, place: number): number {
    let hash = 0;
    let stem = 0;
    let letters = 0;
    let at = from;
    for (; at < to; at++) {
      const folded = FOLDED[text.charCodeAt(at)]!;
      if (folded <= DIGIT) {
        if (folded === MARK) continue;
        break;
      }
      if (folded >= UNSPACED && isUnspaced(folded)) break;
      hash = (Math.imul(hash, 0x01000193) + folded) | 0;
      if (++letters === STEM_LETTERS) stem = hash;
    }
    this.#word(hash, letters > STEM_LETTERS ? stem : 0, place);
    return at;
  }

  /** Adds a number by its count of digits, and returns the position after it. */
  #digits(text: string, from: number, to: number, place: number): number {
    let at = from + 1;
    while (at < to && FOLDED[text.charCodeAt(at)] === DIGIT) at++;
    this.#word(DIGITS + Math.min(at - from, DIGITS_MAX), 0, place);
    return at;
  }

  /** Adds a fact about the form of a text. */
  fact(fact: number, value: number): void {
    if (this.size < ROWS_MAX) this.#rows[this.size++] = rowOf(Math.imul(fact + 1, FACT) ^ value);
  }

  /** Returns a copy of the rows of a range. */
  slice(from: number, to: number): Int32Array {
    return this.#rows.slice(from, to);
  }

  at(place: number): number {
    return this.#rows[place]!;
  }

  #word(hash: number, stem: number, place: number): void {
    if (this.size + 4 > ROWS_MAX) return;
    const rows = this.#rows;
    rows[this.size++] = rowOf(hash ^ place);
    if (stem !== 0) rows[this.size++] = rowOf(stem ^ place ^ STEM);
    if (this.#last !== 0) rows[this.size++] = rowOf((Math.imul(this.#last, 31) + hash) ^ place ^ PAIR);
    this.#last = hash;
  }
}
/** The rows of the longest text that is read. */
const ROWS_MAX = 8_192;
