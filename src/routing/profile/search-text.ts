import { neededPieces } from './needed-pieces.ts';
import { PieceFinder } from './piece-finder.ts';
import type { QuestionRange } from './question.ts';

/** Texts that are read before their pieces are looked for: a start must not wait for the finder, which takes 20 ms. */
const READS_BEFORE = 16;

/** Expressions that are tried on texts in lower case, each only where one of the pieces that it needs occurs. Most never are. */
export class Expressions {
  readonly #all: readonly RegExp[];
  readonly #places: ReadonlyMap<RegExp, number>;
  readonly #piecesOf: typeof neededPieces;
  #finder: PieceFinder | null = null;
  #reads = 0;

  constructor(all: readonly RegExp[], piecesOf: typeof neededPieces = neededPieces) {
    const foreign = all.find(({ ignoreCase }) => ignoreCase);
    if (foreign) throw new Error(`texts are in lower case: ${foreign.source}`);
    this.#all = all;
    this.#places = new Map(all.map((one, at) => [one, at]));
    this.#piecesOf = piecesOf;
  }

  /**
   * Reads ranges of a text, in any case.
   *
   * @param wordingOf returns the text of the ranges in lower case; called only where an expression may match
   */
  read(text: string, ranges: readonly QuestionRange[], wordingOf: () => string): SearchText {
    if (this.#reads++ < READS_BEFORE) return new SearchText(wordingOf, this.#places, null);
    this.#finder ??= new PieceFinder(this.#all.map(this.#piecesOf));
    return new SearchText(wordingOf, this.#places, this.#finder.find(text, ranges));
  }
}

/** A text in lower case, in which expressions are looked for. */
export class SearchText {
  readonly #wordingOf: () => string;
  readonly #places: ReadonlyMap<RegExp, number>;
  readonly #found: Uint8Array | null;
  #text: string | null = null;

  /** @param found by the place of an expression, 1 where it may match; null where any may */
  constructor(wordingOf: () => string, places: ReadonlyMap<RegExp, number>, found: Uint8Array | null) {
    this.#wordingOf = wordingOf;
    this.#places = places;
    this.#found = found;
  }

  get text(): string {
    this.#text ??= this.#wordingOf();
    return this.#text;
  }

  /** Whether the text matches one of the `Expressions` that it was read for. */
  has(expression: RegExp): boolean {
    return this.mayHave(expression) && expression.test(this.text);
  }

  /** All matches of one of the `Expressions`, which is global. */
  matches(expression: RegExp): readonly string[] {
    return this.mayHave(expression) ? (this.text.match(expression) ?? []) : [];
  }

  /** Whether the text has a piece that the expression needs. */
  mayHave(expression: RegExp): boolean {
    const place = this.#places.get(expression);
    if (place === undefined) throw new Error(`the text was not read for ${expression.source}`);
    return this.#found === null || this.#found[place] === 1;
  }
}
