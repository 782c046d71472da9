import { neededPieces } from './needed-pieces.ts';
import { PieceFinder } from './piece-finder.ts';
import type { QuestionRange } from './question.ts';

/**
 * The number of texts that are read before the piece finder is built. Building the piece finder takes 20 ms, which must not delay the start
 * of the server.
 */
const READS_BEFORE = 16;
/** A number with all bits set means that any expression may match. */
const ANY = -1;

/** Returns the text of some ranges in lower case. */
export type WordingOf = (text: string, ranges: readonly QuestionRange[]) => string;

/**
 * Expressions that are searched in lower-case texts. Signalbox tries an expression only on a text that contains a piece that the expression
 * needs, so it never tries most expressions.
 */
export class Expressions {
  readonly all: readonly RegExp[];
  readonly wordingOf: WordingOf;
  #finder: PieceFinder | null = null;
  #reads = 0;

  /** @param wordingOf called only if an expression may match */
  constructor(all: readonly RegExp[], wordingOf: WordingOf) {
    const foreign = all.find(({ ignoreCase }) => ignoreCase);
    if (foreign) throw new Error(`an expression for lower-case texts must not have the flag i: ${foreign.source}`);
    this.all = all;
    this.wordingOf = wordingOf;
  }

  /** Reads ranges of a text, ignoring case. */
  read(text: string, ranges: readonly QuestionRange[]): SearchText {
    if (this.#reads++ < READS_BEFORE) return new SearchText(this, text, ranges, ANY);
    this.#finder ??= new PieceFinder(this.all.map(neededPieces));
    return new SearchText(this, text, ranges, this.#finder.find(text, ranges));
  }
}

/** A text in which expressions are searched. Callers name an expression by its index in `Expressions`. */
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

  /** The text in lower case. */
  get text(): string {
    this.#text ??= this.#expressions.wordingOf(this.#source, this.#ranges);
    return this.#text;
  }

  /** Returns whether the text matches an expression. */
  has(expression: number): boolean {
    return this.mayHave(expression) && this.#expressions.all[expression]!.test(this.text);
  }

  /** Returns all matches of an expression, which must have the flag `g`. */
  matches(expression: number): readonly string[] {
    return this.mayHave(expression) ? (this.text.match(this.#expressions.all[expression]!) ?? []) : [];
  }

  /** Returns whether the text has a piece that the expression needs. */
  mayHave(expression: number): boolean {
    return ((this.#found >> expression) & 1) === 1;
  }
}
