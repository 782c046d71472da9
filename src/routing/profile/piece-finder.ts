import type { QuestionRange } from './question.ts';

/** UTF-16 code units that are looked for of a piece: the next ones make it hardly rarer. */
const PIECE_MAX = 5;
/** Letters from here on are of other alphabets than the Latin one. */
const FOREIGN_FROM = 0x250;
/** The class of letters of pieces in other alphabets. */
const FOREIGN = 0xff;
/** Set on a state where a piece ends, so that most steps touch no list of owners. */
const ENDS = 0x8000;

/**
 * Finds whose pieces occur in a text, in one pass, by the automaton of Aho and Corasick
 * (https://doi.org/10.1145/360825.360855). It may find too many owners, never too few.
 */
export class PieceFinder {
  /** By owner, 1 for one that needs no piece. */
  readonly #always: Uint8Array;
  /** By UTF-16 code unit, the class of its lower case: 0 for those of no piece. */
  readonly #classOf = new Uint8Array(0x10000);
  /** Classes in use, and with class 0 the length of a state's row: short rows, since every request would load them anew. */
  #classes = 0;
  readonly #width: number;
  /** By state and class, the next state, with `ENDS`. 0 is the start. */
  #next: Uint16Array;
  /** By state, the owners of the pieces that end there; undefined for none. */
  readonly #owners: (readonly number[] | undefined)[] = [];

  /** @param pieces of each owner; null for an owner that needs none */
  constructor(pieces: readonly (readonly string[] | null)[]) {
    this.#always = Uint8Array.from(pieces, (own) => (own === null ? 1 : 0));
    const needed = pieces.flatMap(
      (own, owner) => own?.map((piece) => [piece.slice(0, PIECE_MAX), owner] as const) ?? [],
    );
    const latin = needed.filter(([piece]) => this.#classify(piece));
    this.#width = this.#classes + 1;
    this.#next = new Uint16Array(this.#width * (1 + latin.reduce((sum, [piece]) => sum + piece.length, 0)));
    this.#next = this.#next.slice(0, this.#width * this.#grow(latin));
    this.#join();
    this.#classifyCapitals();
  }

  /** Gives the letters of a piece their classes. Returns false for a piece with a letter of another alphabet. */
  #classify(piece: string): boolean {
    const codes = Array.from({ length: piece.length }, (_, at) => piece.charCodeAt(at));
    const foreign = codes.filter((code) => code >= FOREIGN_FROM);
    for (const code of foreign) this.#classOf[code] = FOREIGN;
    if (foreign.length > 0) return false;
    for (const code of codes) this.#classOf[code] ||= ++this.#classes;
    return true;
  }

  /** Gives capitals the classes of their lower case, so that texts need not be written anew in lower case. */
  #classifyCapitals(): void {
    for (let code = 0; code < this.#classOf.length; code++) {
      const lower = String.fromCharCode(code).toLowerCase();
      // İ becomes two units.
      this.#classOf[code] = lower.length === 1 ? this.#classOf[lower.charCodeAt(0)]! : FOREIGN;
    }
  }

  /** Makes the tree of all pieces. Returns the number of its states. */
  #grow(pieces: readonly (readonly [piece: string, owner: number])[]): number {
    let states = 1;
    for (const [piece, owner] of pieces) {
      let state = 0;
      for (let at = 0; at < piece.length; at++) {
        const edge = this.#width * state + this.#classOf[piece.charCodeAt(at)]!;
        this.#next[edge] ||= states++;
        state = this.#next[edge]!;
      }
      this.#owners[state] = [...(this.#owners[state] ?? []), owner];
    }
    return states;
  }

  /** Leads each state on by letters that do not continue its piece, breadth first: to the longest end of it that begins one. */
  #join(): void {
    const behind = new Uint16Array(this.#next.length / this.#width);
    const queue = [0];
    for (const state of queue) {
      const before = behind[state]!;
      const inherited = state === 0 ? undefined : this.#owners[before];
      if (inherited) this.#owners[state] = [...(this.#owners[state] ?? []), ...inherited];
      for (let letter = 1; letter <= this.#classes; letter++) {
        const edge = this.#width * state + letter;
        const other = state === 0 ? 0 : this.#next[this.#width * before + letter]!;
        const next = this.#next[edge]!;
        if (next === 0) {
          this.#next[edge] = other;
          continue;
        }
        behind[next] = other;
        queue.push(next);
      }
    }
    for (let edge = 0; edge < this.#next.length; edge++) if (this.#owners[this.#next[edge]!]) this.#next[edge]! |= ENDS;
  }

  /** Returns 1 for each owner with a piece in one of the ranges, in any case. A letter of another alphabet counts for all. */
  find(text: string, ranges: readonly QuestionRange[]): Uint8Array {
    const found = this.#always.slice();
    const next = this.#next;
    const width = this.#width;
    const classOf = this.#classOf;
    for (let nth = 0; nth < ranges.length; nth++) {
      const { from, to } = ranges[nth]!;
      let state = 0;
      for (let at = from; at < to; at++) {
        const letter = classOf[text.charCodeAt(at)]!;
        if (letter === FOREIGN) return found.fill(1);
        state = next[width * state + letter]!;
        if (state < ENDS) continue;
        state -= ENDS;
        const owners = this.#owners[state]!;
        for (let owner = 0; owner < owners.length; owner++) found[owners[owner]!] = 1;
      }
    }
    return found;
  }
}
