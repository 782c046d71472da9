import type { SourceSpan } from '../report/diagnostics.ts';
import { type Entry, type ListTree, type MapTree, NESTING_MAX, type ScalarTree, type Tree } from './tree.ts';

/**
 * Reads the subset of YAML in which most policies are written: maps and lists in blocks or brackets, and values on one line. Loading the
 * YAML library for plain policies would take a quarter of the server's start time.
 * @returns exactly the tree that `readYaml` returns; null for any other text, valid or not
 */
export function readPlainYaml(file: string, text: string): Tree | null {
  if (FOREIGN.test(text)) return null;
  try {
    return new PlainReader(file, text).read();
  } catch (thrown) {
    if (thrown === notPlain) return null;
    throw thrown;
  }
}

/** Tabs, carriage returns, other control characters, and byte order marks. */
const FOREIGN = /[^\P{Cc}\n]|\ufeff/u;

/** Thrown as soon as the text leaves the subset. */
const notPlain = new Error('not plain YAML');

/** The most characters of a key in plain YAML. The YAML library accepts longer keys. */
const KEY_LENGTH_MAX = 1_000;

/** Characters that cannot begin an unquoted text. */
const INDICATORS: ReadonlySet<string> = new Set(',[]{}#&*!|>\'"%@`?:');
/** An unquoted text on one line, without trailing spaces. */
const PLAIN = /(?: *(?:[^ \n:#]|:(?![ \n]|$)|(?<! )#))*/y;
const PLAIN_IN_BRACKETS = /(?: *(?:[^ \n:#,[\]{}]|:(?![ \n,[\]{}]|$)|(?<! )#))*/y;
/** A quoted text on one line, without escapes except the doubled single quote. */
const QUOTED = /"[^"\\\n]*"|'(?:[^'\n]|'')*'/y;
/** A colon after which the text before it counts as a key. */
const COLON = / *:(?=[ \n]|$)/y;
const DASH = /-(?=[ \n]|$)/y;
/** Spaces, line ends and comments. */
const GAP = /(?:[ \n]|(?<=[ \n]|^)#[^\n]*)*/y;

/** The beginning of a node. */
interface Mark {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/**
 * Every method of the reader starts at a token. Methods for blocks end at the next token; the other methods end right after the text that
 * they have read.
 */
class PlainReader {
  readonly #file: string;
  readonly #text: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
  }

  read(): Tree {
    this.#skip();
    const tree = this.#block(-1, 0);
    if (this.#at < this.#text.length) throw notPlain;
    return tree;
  }

  /** Reads a node that begins a line or follows a dash. @param outer the column of the map or list around it */
  #block(outer: number, depth: number): Tree {
    if (depth >= NESTING_MAX) throw notPlain;
    const mark = this.#mark();
    if (this.#isDash()) return this.#blockList(mark, depth);
    const first = this.#value(outer, depth, false);
    if (this.#take(COLON) !== null) return this.#blockMap(mark, first, depth);
    this.#endLine();
    return first;
  }

  #blockMap(mark: Mark, first: Tree, depth: number): MapTree {
    const entries: Entry[] = [];
    const names = new Set<string>();
    let node = first;
    for (;;) {
      const key = keyOf(node, names);
      entries.push({ key, place: node.place, value: this.#entryValue(node.place, mark.column, depth) });
      if (!this.#continues(mark.column)) break;
      node = this.#scalar(false);
      if (this.#take(COLON) === null) throw notPlain;
    }
    // For a single key without a value, the library's map ends at the colon, so the location would differ.
    if (entries.length === 1 && entries[0]?.value.place === first.place) throw notPlain;
    return { kind: 'map', entries, place: this.#placeOfLine(mark) };
  }

  /**
   * Reads the value after a colon: on the same line, on the next lines, or empty. A YAML value that is empty has the location of its key.
   */
  #entryValue(key: SourceSpan, column: number, depth: number): Tree {
    this.#skip();
    if (this.#line === key.line && this.#at < this.#text.length) {
      const value = this.#value(column, depth + 1, false);
      this.#endLine();
      return value;
    }
    const isInside = this.#column > column || (this.#column === column && this.#isDash());
    if (isInside && this.#at < this.#text.length) return this.#block(column, depth + 1);
    return { kind: 'scalar', value: null, source: '', place: key };
  }

  #blockList(mark: Mark, depth: number): ListTree {
    const items: Tree[] = [];
    do {
      if (this.#take(DASH) === null) break;
      this.#skip();
      if (this.#column <= mark.column || this.#at === this.#text.length) throw notPlain;
      items.push(this.#block(mark.column, depth + 1));
    } while (this.#continues(mark.column));
    return { kind: 'list', items, place: this.#placeOfLine(mark) };
  }

  /** Whether the next token belongs to the map or list at a column. A token that is indented deeper continues the text before it. */
  #continues(column: number): boolean {
    if (this.#at < this.#text.length && this.#column > column) throw notPlain;
    return this.#at < this.#text.length && this.#column === column;
  }

  #value(outer: number, depth: number, isInBrackets: boolean): Tree {
    if (depth >= NESTING_MAX) throw notPlain;
    const sign = this.#sign();
    if (sign === '{') return this.#bracketMap(outer, depth);
    if (sign === '[') return this.#bracketList(outer, depth);
    return this.#scalar(isInBrackets);
  }

  #bracketMap(outer: number, depth: number): MapTree {
    const mark = this.#mark();
    const entries: Entry[] = [];
    const names = new Set<string>();
    this.#brackets('}', outer, () => {
      const node = this.#scalar(true);
      if (this.#take(COLON) === null) throw notPlain;
      this.#skipInside(outer);
      const value = this.#value(outer, depth + 1, true);
      entries.push({ key: keyOf(node, names), place: node.place, value });
    });
    return { kind: 'map', entries, place: this.#placeOf(mark) };
  }

  #bracketList(outer: number, depth: number): ListTree {
    const mark = this.#mark();
    const items: Tree[] = [];
    this.#brackets(']', outer, () => items.push(this.#value(outer, depth + 1, true)));
    return { kind: 'list', items, place: this.#placeOf(mark) };
  }

  #brackets(close: string, outer: number, takeItem: () => void): void {
    this.#at++;
    this.#skipInside(outer);
    while (this.#sign() !== close) {
      takeItem();
      this.#skipInside(outer);
      if (this.#sign() === ',') {
        this.#at++;
        this.#skipInside(outer);
      } else if (this.#sign() !== close) throw notPlain;
    }
    this.#at++;
  }

  #scalar(isInBrackets: boolean): ScalarTree {
    const mark = this.#mark();
    const sign = this.#sign();
    if (sign === '"' || sign === "'") return this.#quoted(mark);
    const source = this.#take(isInBrackets ? PLAIN_IN_BRACKETS : PLAIN) ?? '';
    const isMarker = mark.column === 0 && (source.startsWith('---') || source.startsWith('...'));
    if (INDICATORS.has(sign) || source === '' || source === '-' || source.startsWith('- ') || isMarker) throw notPlain;
    return { kind: 'scalar', value: plainValue(source), source, place: this.#placeOf(mark) };
  }

  #quoted(mark: Mark): ScalarTree {
    const written = this.#take(QUOTED);
    if (written === null) throw notPlain;
    const inner = written.slice(1, -1);
    const value = written.startsWith("'") ? inner.replaceAll("''", "'") : inner;
    return { kind: 'scalar', value, source: value, place: this.#placeOf(mark) };
  }

  /** Moves past the text that a pattern matches at the cursor; null if it does not match. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += found?.length ?? 0;
    return found;
  }

  /** Moves to the next token. A YAML comment needs a space before it. */
  #skip(): void {
    const lines = this.#take(GAP)?.split('\n') ?? [];
    if (this.#sign() === '#') throw notPlain;
    if (lines.length <= 1) return;
    this.#line += lines.length - 1;
    this.#lineStart = this.#text.lastIndexOf('\n', this.#at - 1) + 1;
  }

  /** Moves to the next token inside brackets, whose lines must be indented deeper than the surrounding map or list. */
  #skipInside(outer: number): void {
    this.#skip();
    if (this.#at === this.#text.length || this.#column <= outer) throw notPlain;
  }

  /** Moves from the end of a value to the next token, which must be on another line. */
  #endLine(): void {
    const line = this.#line;
    this.#skip();
    if (this.#line === line && this.#at < this.#text.length) throw notPlain;
  }

  #isDash(): boolean {
    DASH.lastIndex = this.#at;
    return DASH.test(this.#text);
  }

  #sign(): string {
    return this.#text.charAt(this.#at);
  }

  get #column(): number {
    return this.#at - this.#lineStart;
  }

  #mark(): Mark {
    return { at: this.#at, line: this.#line, column: this.#column };
  }

  /** Returns the location from a mark to the cursor, or to the end of the mark's line. */
  #placeOf(mark: Mark): SourceSpan {
    if (this.#line !== mark.line) return this.#placeOfLine(mark);
    return { file: this.#file, line: mark.line, column: mark.column + 1, length: this.#at - mark.at };
  }

  #placeOfLine({ at, line, column }: Mark): SourceSpan {
    const end = this.#text.indexOf('\n', at);
    const length = (end < 0 ? this.#text.length : end) - at;
    return { file: this.#file, line, column: column + 1, length };
  }
}

/** Returns the name of a key. The plain reader leaves a key that is not a name, or is repeated, to the YAML library, which reports it. */
function keyOf(node: Tree, names: Set<string>): string {
  if (node.kind !== 'scalar' || node.value === null) throw notPlain;
  const key = typeof node.value === 'string' ? node.value : node.source;
  if (key === '<<' || key.length > KEY_LENGTH_MAX || names.has(key)) throw notPlain;
  names.add(key);
  return key;
}

const DECIMAL = /^[-+]?(?:\d{1,15}|\d{1,15}\.\d{0,15})$/;
/** The plain reader leaves numbers in other forms to the YAML library, except versions and dates, which are texts. */
const ODD_NUMBER =
  /^(?:0[ox][\da-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** Returns the value of an unquoted text under YAML's core schema. */
function plainValue(source: string): ScalarTree['value'] {
  if (/^(?:~|null|Null|NULL)$/.test(source)) return null;
  if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(source)) return /^t/i.test(source);
  if (DECIMAL.test(source)) return Number(source);
  if (ODD_NUMBER.test(source)) throw notPlain;
  return source;
}
