import { DIGIT, FOLDED } from './letters.ts';
import type { QuestionRange } from './question.ts';

/** Letters from here on are of other alphabets than the Latin one. */
const FOREIGN_FROM = 0x250;
/** The class of letters of pieces in other alphabets. */
const FOREIGN = 0xff;
/** Classes of letters. Class 0 is of no piece. */
const CLASS_BITS = 5;
const CLASSES = 1 << CLASS_BITS;
/** Letters of a window, by which a piece is looked for; the letter behind them is compared too. */
const WINDOW = 4;
const WINDOW_MASK = (1 << (WINDOW * CLASS_BITS)) - 1;
/** A piece of fewer letters counts as found where the text has them, in any order. */
const PIECE_MIN = WINDOW - 1;
/** Bits of the place of a window in the filter, and among the entries. */
const FILTER_BITS = 15;
const ENTRY_BITS = 12;
/** An entry: a window, the class behind it or `ANY_CLASS`, and the owners; 0 owners for a free place. */
const ENTRY = 3;
const ANY_CLASS = -1;
const OWNERS_MAX = 32;
const ALL = -1;

/**
 * Finds whose pieces occur in a text, in one pass. The window of the last letters, a number, is looked up in a filter of bits, as
 * Bloom's (https://doi.org/10.1145/362686.362692), which has few places and mostly says no; only else among the entries.
 * It may find too many owners, never too few.
 */
export class PieceFinder {
  /** The owners that need no piece. Owners are bits of a number. */
  readonly #always: number;
  /** By UTF-16 code unit, its class. Letters have one without case and accents, and the rarest signs share the last one. */
  readonly #classOf = new Uint8Array(0x10000);
  readonly #filter = new Int32Array(1 << (FILTER_BITS - 5));
  readonly #entries = new Int32Array(ENTRY << ENTRY_BITS);
  #size = 0;
  /** Short pieces: the classes that they need, as bits, and their owners. */
  readonly #short: { readonly classes: number; readonly owners: number }[] = [];

  /** @param pieces of each owner, at most 32; null for an owner that needs none */
  constructor(pieces: readonly (readonly string[] | null)[]) {
    if (pieces.length > OWNERS_MAX) throw new RangeError(`more than ${OWNERS_MAX} owners`);
    this.#always = pieces.reduce((all, own, owner) => (own === null ? all | (1 << owner) : all), 0);
    const needed = pieces.flatMap((own, owner) => own?.map((piece) => [codesOf(piece), 1 << owner] as const) ?? []);
    this.#classify(needed.map(([codes]) => codes));
    for (const [codes, owners] of needed) {
      if (!codes.some(isForeign))
        this.#add(
          codes.map((code) => this.#classOf[code]!),
          owners,
        );
    }
  }

  /** Gives the letters of pieces their classes, the most frequent first. */
  #classify(pieces: readonly (readonly number[])[]): void {
    const times = new Map<number, number>();
    const foreign = new Set<number>();
    for (const code of pieces.flat()) {
      if (isForeign(code)) foreign.add(code);
      else times.set(foldedOf(code), (times.get(foldedOf(code)) ?? 0) + 1);
    }
    const folded = [...times].sort(([, a], [, b]) => b - a).map(([code]) => code);
    const classes = new Map(folded.map((code, nth) => [code, Math.min(nth + 1, CLASSES - 1)]));
    for (let code = 0; code < this.#classOf.length; code++) {
      const lower = String.fromCharCode(code).toLowerCase();
      // İ becomes two units.
      const isOther = lower.length > 1 || foreign.has(lower.charCodeAt(0));
      this.#classOf[code] = isOther ? FOREIGN : (classes.get(foldedOf(code)) ?? 0);
    }
  }

  #add(classes: readonly number[], owners: number): void {
    if (classes.length < PIECE_MIN) {
      this.#short.push({ classes: classes.reduce((all, one) => all | (1 << one), 0), owners });
      return;
    }
    const window = classes.slice(0, WINDOW).reduce((all, one) => (all << CLASS_BITS) | one, 0);
    if (classes.length >= WINDOW) this.#addEntry(window, classes[WINDOW] ?? ANY_CLASS, owners);
    // Any letter may stand before a piece that is shorter than a window.
    else for (let before = 0; before < CLASSES; before++) this.#addEntry(withBefore(before, window), ANY_CLASS, owners);
  }

  #addEntry(window: number, next: number, owners: number): void {
    const entries = this.#entries;
    let place = placeOf(window, ENTRY_BITS);
    while (
      entries[ENTRY * place + 2] !== 0 &&
      !(entries[ENTRY * place] === window && entries[ENTRY * place + 1] === next)
    )
      place = (place + 1) & ((1 << ENTRY_BITS) - 1);
    if (entries[ENTRY * place + 2] === 0 && ++this.#size > 1 << (ENTRY_BITS - 1))
      throw new RangeError('too many pieces');
    entries[ENTRY * place] = window;
    entries[ENTRY * place + 1] = next;
    entries[ENTRY * place + 2]! |= owners;
    const bit = placeOf(window, FILTER_BITS);
    this.#filter[bit >> 5]! |= 1 << (bit & 31);
  }

  /**
   * Returns the owners with a piece in one of the ranges, in any case, each as the bit of its place. A letter of another alphabet
   * counts for all.
   */
  find(text: string, ranges: readonly QuestionRange[]): number {
    const classOf = this.#classOf;
    const filter = this.#filter;
    let found = this.#always;
    let seen = 0;
    for (let nth = 0; nth < ranges.length; nth++) {
      const { from, to } = ranges[nth]!;
      let window = 0;
      for (let at = from; at < to; at++) {
        const letter = classOf[text.charCodeAt(at)]!;
        if (letter === FOREIGN) return ALL;
        seen |= 1 << letter;
        window = ((window << CLASS_BITS) | letter) & WINDOW_MASK;
        const bit = placeOf(window, FILTER_BITS);
        if (((filter[bit >> 5]! >> (bit & 31)) & 1) === 0) continue;
        found |= this.#ownersOf(window, at + 1 < to ? classOf[text.charCodeAt(at + 1)]! : 0);
      }
    }
    for (let nth = 0; nth < this.#short.length; nth++) {
      const { classes, owners } = this.#short[nth]!;
      if ((seen & classes) === classes) found |= owners;
    }
    return found;
  }

  /** The owners of pieces that begin with a window. @param next the class of the letter behind it */
  #ownersOf(window: number, next: number): number {
    const entries = this.#entries;
    let found = 0;
    for (let place = placeOf(window, ENTRY_BITS); ; place = (place + 1) & ((1 << ENTRY_BITS) - 1)) {
      const owners = entries[ENTRY * place + 2]!;
      if (owners === 0) return found;
      if (entries[ENTRY * place] !== window) continue;
      const own = entries[ENTRY * place + 1]!;
      if (own === ANY_CLASS || own === next) found |= owners;
    }
  }
}

const codesOf = (piece: string): number[] => Array.from({ length: piece.length }, (_, at) => piece.charCodeAt(at));
const isForeign = (code: number): boolean => code >= FOREIGN_FROM;
/** A letter without case and accents, any digit as one, and signs as they are. */
const foldedOf = (code: number): number => (FOLDED[code]! >= DIGIT ? FOLDED[code]! : code);
const withBefore = (before: number, short: number): number => (before << (PIECE_MIN * CLASS_BITS)) | short;
/** 2 to the power of 32, over the golden ratio, as a signed number. */
const SPREAD = 0x9e3779b1 | 0;
/** The place of a window in a table of 2 to the power of `bits` places. */
const placeOf = (window: number, bits: number): number => Math.imul(window, SPREAD) >>> (32 - bits);
