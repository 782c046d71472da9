import { FOLDED } from './letters.ts';
import type { QuestionRange } from './question.ts';

/** Letters from here on are of other alphabets than the Latin one. */
const FOREIGN_FROM = 0x250;
/** A letter in a window: its last bits, which part `a` to `z`. Gaps, marks and digits share some of theirs. */
const LETTER_BITS = 5;
const LETTERS = 1 << LETTER_BITS;
/** Letters of a window, by which a piece is looked for. */
const WINDOW = 4;
const WINDOW_MASK = (1 << (WINDOW * LETTER_BITS)) - 1;
/** Bits of the place of a window in the filter. */
const FILTER_BITS = 15;
const OWNERS_MAX = 32;
const ALL = -1;

/**
 * Finds whose pieces occur in a text, in one pass. The window of the last letters, a number, is looked up in a filter of bits, as
 * Bloom's (https://doi.org/10.1145/362686.362692), which has few places and mostly says no; only else in a map.
 * It may find too many owners, never too few.
 */
export class PieceFinder {
  /** The owners that need no piece, or one that is too short to be looked for. Owners are bits of a number. */
  #always = 0;
  readonly #filter = new Int32Array(1 << (FILTER_BITS - 5));
  /** By window, the owners of pieces that begin with it. */
  readonly #owners = new Map<number, number>();

  /** @param pieces of each owner, at most 32; null for an owner that needs none */
  constructor(pieces: readonly (readonly string[] | null)[]) {
    if (pieces.length > OWNERS_MAX) throw new RangeError(`more than ${OWNERS_MAX} owners`);
    for (const [place, own] of pieces.entries()) for (const piece of own ?? ['']) this.#add(piece, 1 << place);
  }

  #add(piece: string, owner: number): void {
    const letters = Array.from({ length: piece.length }, (_, at) => FOLDED[piece.charCodeAt(at)]!);
    // Its letters count for all.
    if (letters.some((letter) => letter >= FOREIGN_FROM)) return;
    const window = letters.slice(0, WINDOW).reduce(windowWith, 0);
    if (letters.length >= WINDOW) this.#addWindow(window, owner);
    else if (letters.length < WINDOW - 1) this.#always |= owner;
    // Any letter may stand before a piece that lacks one.
    else
      for (let before = 0; before < LETTERS; before++)
        this.#addWindow((before << ((WINDOW - 1) * LETTER_BITS)) | window, owner);
  }

  #addWindow(window: number, owner: number): void {
    const bit = placeOf(window);
    this.#filter[bit >> 5]! |= 1 << (bit & 31);
    this.#owners.set(window, (this.#owners.get(window) ?? 0) | owner);
  }

  /**
   * Returns the owners with a piece in one of the ranges, in any case, each as the bit of its place. A letter of another alphabet
   * counts for all.
   */
  find(text: string, ranges: readonly QuestionRange[]): number {
    const filter = this.#filter;
    let found = this.#always;
    for (let nth = 0; nth < ranges.length; nth++) {
      const { from, to } = ranges[nth]!;
      let window = 0;
      for (let at = from; at < to; at++) {
        const letter = FOLDED[text.charCodeAt(at)]!;
        if (letter >= FOREIGN_FROM) return ALL;
        window = windowWith(window, letter);
        const bit = placeOf(window);
        if (((filter[bit >> 5]! >> (bit & 31)) & 1) === 1) found |= this.#owners.get(window) ?? 0;
      }
    }
    return found;
  }
}

/** A window with the next letter, without the first. */
const windowWith = (window: number, letter: number): number =>
  ((window << LETTER_BITS) | (letter & (LETTERS - 1))) & WINDOW_MASK;

/** 2 to the power of 32, over the golden ratio, as a signed number. */
const SPREAD = 0x9e3779b1 | 0;
/** The place of a window in the filter. */
const placeOf = (window: number): number => Math.imul(window, SPREAD) >>> (32 - FILTER_BITS);
