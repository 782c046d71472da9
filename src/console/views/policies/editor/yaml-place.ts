/** The place of the cursor in a file of a policy: which map, which key. It reads texts that are half written, as no parser does. */
export interface YamlPlace {
  /** Keys from the top; null is an entry of a list. In value position the last one is the key of the value. */
  readonly path: readonly (string | null)[];
  readonly isValue: boolean;
  /** The maps on the way, the one at the cursor last, each with the values of its keys that are plain; null for any other value. */
  readonly maps: readonly ReadonlyMap<string, string | null>[];
  /** Offset at which the word under the cursor begins. */
  readonly from: number;
}

interface Frame {
  /** The column of its keys or dashes. */
  readonly indent: number;
  readonly isList: boolean;
  readonly path: readonly (string | null)[];
  readonly maps: readonly Map<string, string | null>[];
  /** The key whose value comes next. */
  key: string | null;
}

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#{}[\],&*!|>'"%@`-][^#]*?|-[^\s#][^#]*?)[ \t]*:(?=[ \t\r]|$)/;

/** The place at an offset; null within a comment or a text of several lines. */
export function placeAt(text: string, offset: number): YamlPlace | null {
  const scan = new Scan(offset);
  let at = 0;
  for (const line of text.split('\n')) {
    scan.line(line, at);
    at += line.length + 1;
  }
  return scan.found;
}

/** Reads a text line by line, and remembers the place once it passes it. It reads on, so that the map there has all of its keys. */
class Scan {
  found: YamlPlace | null = null;
  readonly #blocks: Frame[] = [{ indent: 0, isList: false, path: [], maps: [new Map()], key: null }];
  /** Open brackets, and the indentation of the line that opened the first. */
  #flows: Frame[] = [];
  #flowIndent = 0;
  /** The indentation of the key of a text of several lines; null outside. */
  #textIndent: number | null = null;
  readonly #offset: number;

  constructor(offset: number) {
    this.#offset = offset;
  }

  line(line: string, at: number): void {
    const indent = line.length - line.trimStart().length;
    const isBlank = line.trim() === '';
    const cursor = this.#offset >= at && this.#offset <= at + line.length ? this.#offset - at : null;
    if (this.#textIndent !== null) {
      if (isBlank && cursor === null) return;
      if (!isBlank ? indent > this.#textIndent : cursor !== null && cursor > this.#textIndent) return;
      this.#textIndent = null;
    }
    if (this.#flows.length > 0) {
      // One that was never closed ends where a block goes on.
      const isBlock = indent <= this.#flowIndent && (KEY.test(line.trimStart()) || /^\s*- /.test(line));
      if (!isBlock) {
        this.#flow(line, indent, at, cursor);
        return;
      }
      this.#flows = [];
    }
    if (isBlank) {
      if (cursor !== null) this.#find(this.#blockAt(cursor, true), false, at + cursor);
    } else this.#block(line, indent, at, cursor);
  }

  #find(frame: Frame, isValue: boolean, from: number): void {
    const { path, maps, key } = frame;
    this.found = { path: isValue ? [...path, key] : path, isValue, maps, from };
  }

  #block(line: string, indent: number, at: number, cursor: number | null): void {
    let column = indent;
    while (/^-(?:\s|$)/.test(line.slice(column))) {
      if (cursor !== null && cursor <= column) this.#find(this.#blockAt(column, true), false, at + cursor);
      this.#entry(column);
      const behind = line.slice(column + 1);
      const space = behind.length - behind.trimStart().length;
      column += 1 + Math.max(1, space);
      if (behind.trim() === '') {
        if (cursor !== null) this.#find(this.#blockAt(Math.max(column, cursor), false), false, at + cursor);
        return;
      }
    }
    const rest = line.slice(column);
    if (rest.startsWith('#')) return;
    const name = KEY.exec(rest);
    const colon = name ? column + name[0].length : null;
    if (name && colon !== null) {
      const frame = this.#blockAt(column, false);
      this.#key(frame, unquoted(name[1] ?? ''), line.slice(colon), indent);
      if (cursor !== null && cursor < colon) this.#find(frame, false, at + Math.min(cursor, column));
      else if (cursor !== null) this.#value(frame, line, colon, at, cursor);
      this.#flow(line, colon, at, cursor, frame, indent);
      return;
    }
    // A word alone: a key that begins, or an entry of a list.
    if (cursor !== null && !isComment(line, cursor)) {
      const from = cursor < column ? cursor : column;
      this.#find(this.#blockAt(Math.min(column, Math.max(cursor, 0)), true), false, at + from);
    }
    if (/^[[{]/.test(rest)) this.#flow(line, column, at, cursor, this.#blockAt(column, true), indent);
  }

  #key(frame: Frame, key: string, behind: string, indent: number): void {
    frame.key = key;
    const plain = /^[ \t]+([^\s{}[\],&*!|>'"#][^#]*?|"[^"]*"|'[^']*')[ \t\r]*(?:#.*)?$/.exec(behind);
    frame.maps.at(-1)?.set(key, plain ? unquoted(plain[1] ?? '') : null);
    if (/^[ \t]+[|>][-+\d]*[ \t\r]*(?:#.*)?$/.test(behind)) this.#textIndent = Math.max(frame.indent, indent);
  }

  #value(frame: Frame, line: string, colon: number, at: number, cursor: number): void {
    if (isComment(line, cursor)) return;
    const behind = line.slice(colon);
    const start = colon + (behind.length - behind.trimStart().length);
    this.#find(frame, true, at + Math.min(cursor, Math.max(start, colon)));
  }

  /** The map of keys at a column, which begins here unless it is open. @param isLoose also takes one further to the left */
  #blockAt(column: number, isLoose: boolean): Frame {
    const blocks = this.#blocks;
    while (
      blocks.length > 1 &&
      (blocks.at(-1)!.indent > column || (blocks.at(-1)!.indent === column && blocks.at(-1)!.isList))
    ) {
      blocks.pop();
    }
    const top = blocks.at(-1)!;
    if (!top.isList && top.indent === column) return top;
    if (isLoose && !top.isList && top.key === null) return top;
    return this.#open(column, false);
  }

  /** An entry of the list at a column. */
  #entry(column: number): void {
    const blocks = this.#blocks;
    while (blocks.length > 1 && blocks.at(-1)!.indent > column) blocks.pop();
    const top = blocks.at(-1)!;
    if (!(top.isList && top.indent === column)) this.#open(column, true);
  }

  #open(indent: number, isList: boolean): Frame {
    const frame = inner(this.#blocks.at(-1)!, indent, isList);
    this.#blocks.push(frame);
    return frame;
  }

  /** Reads brackets from a column to the end of the line. @param outer the map of the value, where it begins here */
  #flow(line: string, column: number, at: number, cursor: number | null, outer?: Frame, indent = 0): void {
    if (outer) {
      if (!/^[ \t]*[[{]/.test(line.slice(column))) return;
      this.#flowIndent = indent;
    }
    const flows = this.#flows;
    let word = -1;
    const look = (here: number) => {
      const top = flows.at(-1);
      if (cursor !== here || !top) return;
      const isValue = !top.isList && top.key !== null;
      const place = top.isList ? { ...top, path: [...top.path, null] } : top;
      this.#find(place, isValue, at + (word < 0 ? here : word));
    };
    const end = () => {
      const top = flows.at(-1);
      if (!top || word < 0) return;
      const text = unquoted(line.slice(word, here).trim());
      const map = top.maps.at(-1);
      if (!top.isList && top.key === null) map?.set(text, null);
      else if (!top.isList && top.key !== null) map?.set(top.key, text);
      word = -1;
    };
    let here = column;
    for (; here < line.length; here++) {
      const sign = line[here]!;
      if (word < 0 && /["']/.test(sign)) {
        word = here;
        const closed = line.indexOf(sign, here + 1);
        const to = closed < 0 ? line.length - 1 : closed;
        if (cursor !== null && cursor >= here && cursor <= to) look(cursor);
        here = to;
        continue;
      }
      look(here);
      if (sign === '#' && (here === 0 || /\s/.test(line[here - 1] ?? ''))) return;
      if (sign === '{' || sign === '[') flows.push(inner(flows.at(-1) ?? outer!, 0, sign === '['));
      else if (sign === '}' || sign === ']') {
        end();
        flows.pop();
        if (flows.length === 0) return;
      } else if (sign === ',') {
        end();
        const top = flows.at(-1);
        if (top) top.key = null;
      } else if (sign === ':' && /^(?:[\s,}\]]|$)/.test(line.slice(here + 1))) {
        const top = flows.at(-1);
        const name = word < 0 ? '' : unquoted(line.slice(word, here).trim());
        end();
        if (top && !top.isList) top.key = name;
      } else if (word < 0 && !/\s/.test(sign)) word = here;
    }
    look(here);
    end();
  }
}

/** What stands in the value of a key, or in an entry of a list. */
function inner(outer: Frame, indent: number, isList: boolean): Frame {
  const path = outer.isList ? [...outer.path, null] : outer.key === null ? outer.path : [...outer.path, outer.key];
  return { indent, isList, path, maps: isList ? outer.maps : [...outer.maps, new Map()], key: null };
}

const isComment = (line: string, cursor: number): boolean =>
  /(?:^|\s)#/.test(line.slice(0, cursor).replace(/"[^"]*"|'[^']*'/g, ''));

const unquoted = (text: string): string => text.replace(/^(["'])(.*)\1$/, '$2');
