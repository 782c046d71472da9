import { neededPieces } from './needed-pieces.ts';
import { PieceFinder } from './piece-finder.ts';
import type { QuestionRange } from './question.ts';

/** Texts that are read before their pieces are looked for: a start must not wait for the finder, which takes 20 ms. */
const READS_BEFORE = 16;
/** Any expression may match. */
const ANY = -1;

/** Returns the text of some ranges in lower case. */
export type WordingOf = (text: string, ranges: readonly QuestionRange[]) => string;

/** Expressions that are tried on texts in lower case, each only where one of the pieces that it needs occurs. Most never are. */
export class Expressions {
  readonly all: readonly RegExp[];
  readonly wordingOf: WordingOf;
  #finder: PieceFinder | null = null;
  #reads = 0;

  /** @param wordingOf called only where an expression may match */
  constructor(all: readonly RegExp[], wordingOf: WordingOf) {
    const foreign = all.find(({ ignoreCase }) => ignoreCase);
    if (foreign) throw new Error(`texts are in lower case: ${foreign.source}`);
    this.all = all;
    this.wordingOf = wordingOf;
  }

  /** Reads ranges of a text, in any case. */
  read(text: string, ranges: readonly QuestionRange[]): SearchText {
    if (this.#reads++ < READS_BEFORE) return new SearchText(this, text, ranges, ANY);
    this.#finder ??= new PieceFinder(this.all.map(neededPieces));
    return new SearchText(this, text, ranges, this.#finder.find(text, ranges));
  }
}

/** A text in which expressions are looked for. They are named by their place among the `Expressions`. */
export class SearchText {
  readonly #expressions: Expressions;
  readonly #source: string;
  readonly #ranges: readonly QuestionRange[];
  readonly #found: number;
  #text: string | null = null;

  /** @param found a bit for each expression that may match */
  constructor(expressions: Expressions, source: string, ranges: readonly QuestionRange[], found: number) {
    this.#expressions = expressions;
    this.#source = source;
    this.#ranges = ranges;
    this.#found = found;
  }

  /** In lower case. */
  get text(): string {
    this.#text ??= this.#expressions.wordingOf(this.#source, this.#ranges);
    return this.#text;
  }

  /** Whether the text matches an expression. */
  has(expression: number): boolean {
    return this.mayHave(expression) && this.#expressions.all[expression]!.test(this.text);
  }

  /** All matches of an expression, which is global. */
  matches(expression: number): readonly string[] {
    return this.mayHave(expression) ? (this.text.match(this.#expressions.all[expression]!) ?? []) : [];
  }

  /** Whether the text has a piece that the expression needs. */
  mayHave(expression: number): boolean {
    return ((this.#found >> expression) & 1) === 1;
  }
}
