import type { SourceSpan } from './diagnostics.ts';
import { type Entry, type ListTree, type MapTree, NESTING_MAX, type ScalarTree, type Tree } from './tree.ts';

/**
 * Reads the part of YAML that most policies are written in: maps and lists in blocks or brackets, and values on one line.
 * The YAML library would take a quarter of a start for them.
 * @returns exactly the tree that `readYaml` gives; null for any other text, sound or not
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

/** Thrown at the first sign of anything else. */
const notPlain = new Error('not plain YAML');

/** Limit of a key's characters, below the library's. */
const KEY_LENGTH_MAX = 1_000;

/** Signs that begin no plain text. */
const INDICATORS: ReadonlySet<string> = new Set(',[]{}#&*!|>\'"%@`?:');
/** An unquoted text on one line, without the blanks behind it. */
const PLAIN = /(?: *(?:[^ \n:#]|:(?![ \n]|$)|(?<! )#))*/y;
const PLAIN_IN_BRACKETS = /(?: *(?:[^ \n:#,[\]{}]|:(?![ \n,[\]{}]|$)|(?<! )#))*/y;
/** A quoted text on one line, without escapes but the doubled single quote. */
const QUOTED = /"[^"\\\n]*"|'(?:[^'\n]|'')*'/y;
/** The colon that makes the value before it a key. */
const COLON = / *:(?=[ \n]|$)/y;
const DASH = /-(?=[ \n]|$)/y;
/** Blanks, line ends and comments. */
const GAP = /(?:[ \n]|(?<=[ \n]|^)#[^\n]*)*/y;

/** The beginning of a node. */
interface Mark {
  readonly at: number;
  readonly line: number;
  readonly column: number;
}

/** Each method begins at a token. Those of blocks end at the next token, the others behind what they have read. */
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

  /** A node that begins a line or follows a dash. `outer`: the column of the map or list around it. */
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
    // A lone key without a value: the library's map ends at the colon.
    if (entries.length === 1 && entries[0]?.value.place === first.place) throw notPlain;
    return { kind: 'map', entries, place: this.#placeOfLine(mark) };
  }

  /** The value behind a colon: on the same line, on lines below, or nothing, which has the place of its key. */
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

  /** Whether the next token belongs to the map or list at a column. A deeper one continues the text before it. */
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

  /** Moves over what a pattern matches here; null if it does not. */
  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += found?.length ?? 0;
    return found;
  }

  /** Moves to the next token. A comment needs a blank before it. */
  #skip(): void {
    const lines = this.#take(GAP)?.split('\n') ?? [];
    if (this.#sign() === '#') throw notPlain;
    if (lines.length <= 1) return;
    this.#line += lines.length - 1;
    this.#lineStart = this.#text.lastIndexOf('\n', this.#at - 1) + 1;
  }

  /** The same within brackets, whose lines must be deeper than what is around them. */
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

  /** The place from a mark to the cursor, or to the end of the mark's line. */
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

/** The name of a key. The library reports one that is no name, or is there twice. */
function keyOf(node: Tree, names: Set<string>): string {
  if (node.kind !== 'scalar' || node.value === null) throw notPlain;
  const key = typeof node.value === 'string' ? node.value : node.source;
  if (key === '<<' || key.length > KEY_LENGTH_MAX || names.has(key)) throw notPlain;
  names.add(key);
  return key;
}

const DECIMAL = /^[-+]?(?:\d{1,15}|\d{1,15}\.\d{0,15})$/;
/** Numbers in other forms are left to the library; versions and dates are texts. */
const ODD_NUMBER =
  /^(?:0[ox][\da-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** The value of an unquoted text by YAML's core schema. */
function plainValue(source: string): ScalarTree['value'] {
  if (/^(?:~|null|Null|NULL)$/.test(source)) return null;
  if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(source)) return /^t/i.test(source);
  if (DECIMAL.test(source)) return Number(source);
  if (ODD_NUMBER.test(source)) throw notPlain;
  return source;
}
