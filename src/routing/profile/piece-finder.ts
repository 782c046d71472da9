import { FOLDED } from './letters.ts';
import type { QuestionRange } from './question.ts';

/** Code units from this number on belong to other alphabets than the Latin alphabet. */
const FOREIGN_FROM = 0x250;
/**
 * The number of bits that a letter takes in a window. The last bits of a letter distinguish `a` to `z`; gaps, marks and digits can share
 * bits with letters.
 */
const LETTER_BITS = 5;
const LETTERS = 1 << LETTER_BITS;
/** The number of letters in a window. The search finds a piece by the first window of the piece. */
const WINDOW = 4;
const WINDOW_MASK = (1 << (WINDOW * LETTER_BITS)) - 1;
/** The number of bits in the filter's index of a window. */
const FILTER_BITS = 15;
const OWNERS_MAX = 32;
const ALL = -1;

/**
 * Finds the owners whose pieces occur in a text, in one pass. The search keeps the last letters of the text as a number, the window. A bit
 * filter, like a Bloom filter (https://doi.org/10.1145/362686.362692), excludes most windows; only the remaining windows are looked up in a
 * map. The search may find too many owners, but never too few.
 */
export class PieceFinder {
  /** The owners that need no piece, or whose piece is too short to be searched. Each owner is a bit of this number. */
  #always = 0;
  readonly #filter = new Int32Array(1 << (FILTER_BITS - 5));
  /** For each window, the owners of pieces that begin with the window. */
  readonly #owners = new Map<number, number>();

  /** @param pieces the pieces of each owner, for at most 32 owners; null for an owner that needs no piece */
  constructor(pieces: readonly (readonly string[] | null)[]) {
    if (pieces.length > OWNERS_MAX) throw new RangeError(`more than ${OWNERS_MAX} owners`);
    for (const [place, own] of pieces.entries()) for (const piece of own ?? ['']) this.#add(piece, 1 << place);
  }

  #add(piece: string, owner: number): void {
    const letters = Array.from({ length: piece.length }, (_, at) => FOLDED[piece.charCodeAt(at)]!);
    // `find` returns all owners for a text with such letters, so this piece needs no window.
    if (letters.some((letter) => letter >= FOREIGN_FROM)) return;
    const window = letters.slice(0, WINDOW).reduce(windowWith, 0);
    if (letters.length >= WINDOW) this.#addWindow(window, owner);
    else if (letters.length < WINDOW - 1) this.#always |= owner;
    // A piece that is one letter shorter than a window may have any letter before it.
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
   * Returns the owners with a piece in one of the ranges, ignoring case, each as the bit of its index. If a range has a letter of another
   * alphabet, `find` returns all owners.
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

/** Returns the window after the next letter: the oldest letter leaves the window. */
const windowWith = (window: number, letter: number): number =>
  ((window << LETTER_BITS) | (letter & (LETTERS - 1))) & WINDOW_MASK;

/** 2^32 divided by the golden ratio, as a signed number. */
const SPREAD = 0x9e3779b1 | 0;
/** Returns the filter's index of a window. */
const placeOf = (window: number): number => Math.imul(window, SPREAD) >>> (32 - FILTER_BITS);
