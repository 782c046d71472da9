import { DIGIT, FOLDED, isUnspaced, MARK, STEM_LETTERS, stemOn } from './letters.ts';
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

/** Collects the rows of words. A reader uses its collectors for all texts. */
export class WordRows {
  readonly #rows = new Int32Array(ROWS_MAX);
  /** A bit for each row, set while the rows of a text are collected. */
  readonly #seen = new Int32Array(2 ** (ROW_BITS - 5));
  size = 0;

  clear(): void {
    this.size = 0;
  }

  /** Adds the words of a range of a text. The first word makes no pair with a word before. */
  add(text: string, from: number, to: number, place: number): void {
    const rows = this.#rows;
    let size = this.size;
    let last = 0;
    for (let at = from; at < to && size < ROWS_MAX - 3; ) {
      const code = text.charCodeAt(at++);
      const folded = FOLDED[code]!;
      let hash = 0;
      let stem = 0;
      if (folded > DIGIT) {
        hash = folded;
        if (folded < UNSPACED || !isUnspaced(folded)) {
          let letters = 1;
          for (; at < to; at++) {
            const next = FOLDED[text.charCodeAt(at)]!;
            if (next <= DIGIT) {
              if (next === MARK) continue;
              break;
            }
            if (next >= UNSPACED && isUnspaced(next)) break;
            hash = stemOn(hash, next);
            if (++letters === STEM_LETTERS) stem = hash;
          }
          if (letters <= STEM_LETTERS) stem = 0;
        }
      } else if (folded === DIGIT) {
        const first = at;
        while (at < to && FOLDED[text.charCodeAt(at)] === DIGIT) at++;
        hash = DIGITS + Math.min(at - first + 1, DIGITS_MAX);
      } else if (code > 0x20 && folded !== MARK) hash = stemOn(PAIR, code);
      else continue;
      rows[size++] = rowOf(hash ^ place);
      if (stem !== 0) rows[size++] = rowOf(stem ^ place ^ STEM);
      if (last !== 0) rows[size++] = rowOf((Math.imul(last, 31) + hash) ^ place ^ PAIR);
      last = hash;
    }
    this.size = size;
  }

  /** Adds a fact about the form of a text. */
  fact(fact: number, value: number): void {
    if (this.size < ROWS_MAX) this.#rows[this.size++] = rowOf(Math.imul(fact + 1, FACT) ^ value);
  }

  /** Returns the rows of a range, each once. */
  distinct(from: number, to: number): Int32Array {
    const rows = this.#rows;
    const seen = this.#seen;
    const found = new Int32Array(to - from);
    let size = 0;
    for (let at = from; at < to; at++) {
      const row = rows[at]!;
      const bit = 1 << (row & 31);
      if ((seen[row >> 5]! & bit) !== 0) continue;
      seen[row >> 5]! |= bit;
      found[size++] = row;
    }
    for (let at = 0; at < size; at++) seen[found[at]! >> 5] = 0;
    return size === found.length ? found : found.slice(0, size);
  }

  at(place: number): number {
    return this.#rows[place]!;
  }
}

/** The rows of the longest text that is read. */
const ROWS_MAX = 8_192;
