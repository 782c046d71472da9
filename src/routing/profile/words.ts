import { DIGIT, FOLDED, isUnspaced, MARK } from './letters.ts';

/** The words that are read of a text at most. */
const WORDS_MAX = 4_096;
/** The letters of a stem. */
const STEM = 6;
const DIGITS = 0x0d1f3a57;
const DIGITS_MAX = 5;
const SIGN = 0x165667b1;
/** No letter before this one belongs to a script without spaces. */
const UNSPACED = 0x0e00;

/** Returns the hash of a word extended by a unit. */
export const hashOn = (hash: number, unit: number): number => (Math.imul(hash, 0x01000193) + unit) | 0;

/**
 * The words of a text as hashes: runs of letters without case and accents, runs of digits by their length, single other signs, and single
 * letters of scripts without spaces. All texts are read into the same arrays.
 */
export class Words {
  readonly hashes = new Int32Array(WORDS_MAX);
  /** The hashes of the first letters of longer words; 0 for other words. */
  readonly stems = new Int32Array(WORDS_MAX);
  /** The positions in the text before and after each word. */
  readonly from = new Int32Array(WORDS_MAX);
  readonly to = new Int32Array(WORDS_MAX);
  size = 0;

  /** Reads a text. With default values of parameters, the loop would take twice as long. */
  read(text: string): this {
    const { length: end } = text;
    let size = 0;
    for (let at = 0; at < end && size < WORDS_MAX; ) {
      const from = at;
      const code = text.charCodeAt(at++);
      const folded = FOLDED[code]!;
      let hash = 0;
      let stem = 0;
      if (folded > DIGIT) {
        hash = folded;
        if (folded < UNSPACED || !isUnspaced(folded)) {
          let letters = 1;
          for (; at < end; at++) {
            const next = FOLDED[text.charCodeAt(at)]!;
            if (next === MARK) continue;
            if (next <= DIGIT || (next >= UNSPACED && isUnspaced(next))) break;
            hash = hashOn(hash, next);
            if (++letters === STEM) stem = hash;
          }
          if (letters <= STEM) stem = 0;
        }
      } else if (folded === DIGIT) {
        while (at < end && FOLDED[text.charCodeAt(at)] === DIGIT) at++;
        hash = DIGITS + Math.min(at - from, DIGITS_MAX);
      } else if (code > 0x20 && folded !== MARK) hash = hashOn(SIGN, code);
      else continue;
      this.hashes[size] = hash;
      this.stems[size] = stem;
      this.from[size] = from;
      this.to[size++] = at;
    }
    this.size = size;
    return this;
  }
}
