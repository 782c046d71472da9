import type { Words } from './words.ts';

/** The place of a text in the request. A word means something else in each place. */
export const PLACE = {
  question: 0x5bd1e995,
  first: 0x2545f491,
  last: 0x4f6cdd1d,
  material: 0x7feb352d,
  system: 0x1b873593,
  before: 0x3c6ef372,
  answer: 0x68e31da4,
  tools: 0x2c1b3c6d,
} as const;
export type Place = (typeof PLACE)[keyof typeof PLACE];

const STEM = 0x46ac12fd;
const PAIR = 0x165667b1;
const FACT = 0x3f84d5b5;

const FEATURES_MAX = 16_384;
const SEEN_BITS = 16;

/** Spreads a hash over all bits, since the slot and the check of a feature are different bits of it. */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** The features of texts: hashes of words, of their stems and of pairs of words, by place, each once for each text; and facts. */
export class Features {
  readonly hashes = new Int32Array(FEATURES_MAX);
  readonly values = new Float64Array(FEATURES_MAX);
  /** The values for the difficulty, which do not depend on the number of other words, so that a text around a question changes little. */
  readonly fixed = new Float64Array(FEATURES_MAX);
  /** The last word of each feature, and whether the word before belongs to it, too. */
  readonly #last = new Int32Array(FEATURES_MAX);
  readonly #isPair = new Uint8Array(FEATURES_MAX);
  readonly #seen = new Int32Array(1 << (SEEN_BITS - 5));
  size = 0;

  clear(): void {
    this.size = 0;
  }

  /** Adds the words of a text from one index to another. @param weight how much the text counts, relative to a question */
  addWords(words: Words, from: number, to: number, place: Place, weight: number): void {
    const start = this.size;
    const { hashes, stems } = words;
    for (let at = from; at < to && this.size < FEATURES_MAX - 3; at++) {
      const hash = hashes[at]!;
      this.#add(hash ^ place, at, 0);
      if (stems[at] !== 0) this.#add(stems[at]! ^ place ^ STEM, at, 0);
      if (at > from) this.#add((Math.imul(hashes[at - 1]!, 31) + hash) ^ place ^ PAIR, at, 1);
    }
    const size = this.size - start;
    const value = weight * featureValue(size);
    for (let at = start; at < this.size; at++) {
      this.values[at] = value;
      this.fixed[at] = weight * FIXED;
      const bit = this.hashes[at]! >>> (32 - SEEN_BITS);
      this.#seen[bit >> 5] = 0;
    }
  }

  /** Adds a fact about the form of a text or of a request. */
  addFact(fact: number, value: number): void {
    this.hashes[this.size] = mixed(Math.imul(fact + 1, FACT) ^ value);
    this.values[this.size] = 1;
    this.fixed[this.size++] = 1;
  }

  /** Returns the indexes of the first and the last word of a feature. */
  wordsAt(at: number): { readonly first: number; readonly last: number } {
    const last = this.#last[at]!;
    return { first: last - this.#isPair[at]!, last };
  }

  #add(hash: number, word: number, isPair: 0 | 1): void {
    const feature = mixed(hash);
    const bit = feature >>> (32 - SEEN_BITS);
    const mask = 1 << (bit & 31);
    if ((this.#seen[bit >> 5]! & mask) !== 0) return;
    this.#seen[bit >> 5]! |= mask;
    this.hashes[this.size] = feature;
    this.#last[this.size] = word;
    this.#isPair[this.size++] = isPair;
  }
}

/** A text of more features than this says no more than a text of this many. */
const FEATURES_COUNTED = 150;

const FIXED = 0.4;

/** The value of each feature of a text: the more features it has, the less each of them weighs. */
const featureValue = (size: number): number =>
  (4 * Math.sqrt(Math.min(FEATURES_COUNTED, Math.max(4, size)))) / Math.max(4, size);
