import { DIGIT, FOLDED } from './letters.ts';
import type { QuestionRange } from './question.ts';

/** UTF-16 code units that are looked for of a piece: the next ones make it hardly rarer. */
const PIECE_MAX = 5;
/** Letters from here on are of other alphabets than the Latin one. */
const FOREIGN_FROM = 0x250;
/** The class of letters of pieces in other alphabets. */
const FOREIGN = 0xff;
/** Classes: as many as a state's row, which then fills a line of the processor's cache. Class 0 is of no piece. */
const CLASSES = 32;
const CLASS_BITS = 5;
/** Set on a state where a piece ends, so that most steps touch no list of owners. */
const ENDS = 0x8000;
const OWNERS_MAX = 32;
const ALL = -1;

/**
 * Finds whose pieces occur in a text, in one pass, by the automaton of Aho and Corasick
 * (https://doi.org/10.1145/360825.360855). It may find too many owners, never too few.
 */
export class PieceFinder {
  /** The owners that need no piece. Owners are bits of a number. */
  readonly #always: number;
  /** By UTF-16 code unit, its class. Letters have one without case and accents, and the rarest signs share the last one. */
  readonly #classOf = new Uint8Array(0x10000);
  /** By state and class, the next state, with `ENDS`. 0 is the start. */
  #next: Uint16Array;
  /** By state, the owners of the pieces that end there. */
  #owners: Int32Array;

  /** @param pieces of each owner, at most 32; null for an owner that needs none */
  constructor(pieces: readonly (readonly string[] | null)[]) {
    if (pieces.length > OWNERS_MAX) throw new RangeError(`more than ${OWNERS_MAX} owners`);
    this.#always = pieces.reduce((all, own, owner) => (own === null ? all | (1 << owner) : all), 0);
    const needed = pieces.flatMap(
      (own, owner) => own?.map((piece) => [piece.slice(0, PIECE_MAX), owner] as const) ?? [],
    );
    this.#classify(needed.map(([piece]) => piece));
    const latin = needed.filter(([piece]) => !codesOf(piece).some(isForeign));
    const size = 1 + latin.reduce((sum, [piece]) => sum + piece.length, 0);
    this.#next = new Uint16Array(CLASSES * size);
    this.#owners = new Int32Array(size);
    const states = this.#grow(latin);
    this.#next = this.#next.slice(0, CLASSES * states);
    this.#owners = this.#owners.slice(0, states);
    this.#join();
  }

  /** Gives the letters of pieces their classes, the most frequent first. */
  #classify(pieces: readonly string[]): void {
    const times = new Map<number, number>();
    const foreign = new Set<number>();
    for (const code of pieces.flatMap(codesOf)) {
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

  /** Makes the tree of all pieces. Returns the number of its states. */
  #grow(pieces: readonly (readonly [piece: string, owner: number])[]): number {
    let states = 1;
    for (const [piece, owner] of pieces) {
      let state = 0;
      for (const code of codesOf(piece)) {
        const edge = CLASSES * state + this.#classOf[code]!;
        this.#next[edge] ||= states++;
        state = this.#next[edge]!;
      }
      this.#owners[state]! |= 1 << owner;
    }
    return states;
  }

  /** Leads each state on by letters that do not continue its piece, breadth first: to the longest end of it that begins one. */
  #join(): void {
    const behind = new Uint16Array(this.#owners.length);
    const queue = [0];
    for (const state of queue) {
      const before = behind[state]!;
      this.#owners[state]! |= this.#owners[before]!;
      for (let letter = 1; letter < CLASSES; letter++) {
        const edge = CLASSES * state + letter;
        const other = state === 0 ? 0 : this.#next[CLASSES * before + letter]!;
        const next = this.#next[edge]!;
        if (next === 0) {
          this.#next[edge] = other;
          continue;
        }
        behind[next] = other;
        queue.push(next);
      }
    }
    for (let edge = 0; edge < this.#next.length; edge++) {
      if (this.#owners[this.#next[edge]!] !== 0) this.#next[edge]! |= ENDS;
    }
  }

  /**
   * Returns the owners with a piece in one of the ranges, in any case, each as the bit of its place. A letter of another alphabet
   * counts for all.
   */
  find(text: string, ranges: readonly QuestionRange[]): number {
    const next = this.#next;
    const classOf = this.#classOf;
    let found = this.#always;
    for (let nth = 0; nth < ranges.length; nth++) {
      const { from, to } = ranges[nth]!;
      let state = 0;
      for (let at = from; at < to; at++) {
        const letter = classOf[text.charCodeAt(at)]!;
        if (letter === FOREIGN) return ALL;
        state = next[(state << CLASS_BITS) | letter]!;
        if (state < ENDS) continue;
        state -= ENDS;
        found |= this.#owners[state]!;
      }
    }
    return found;
  }
}

const codesOf = (piece: string): number[] => Array.from({ length: piece.length }, (_, at) => piece.charCodeAt(at));
const isForeign = (code: number): boolean => code >= FOREIGN_FROM;
/** A letter without case and accents, any digit as one, and signs as they are. */
const foldedOf = (code: number): number => (FOLDED[code]! >= DIGIT ? FOLDED[code]! : code);
