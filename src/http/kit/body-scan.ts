import { DEPTH_MAX } from '../../core/json/limits.ts';

/** The members of a request body that can contain the messages of a conversation. */
export const LIST_NAMES: ReadonlySet<string> = new Set(['messages', 'input']);

/** Where a value stands in a body, from its first byte to the byte after its last. */
export interface ValueSpan {
  readonly from: number;
  readonly to: number;
  /** How many JSON values it contains: the objects, lists and commas in it, as `beyondLimits` counts them. */
  readonly values: number;
  /** The number of colons outside of strings. An object whose names are all different has one member for each colon. */
  readonly colons: number;
}

/** A body with the location of each of its members and messages. */
export class BodyMap {
  readonly bytes: Buffer;
  /** The members at the top level, in their order. */
  readonly members = new Map<string, ValueSpan>();
  /** The member with the list of messages; null for none. */
  list: string | null = null;
  /** The spans of the messages, as columns, because most of them are copied from the map of an earlier body. */
  starts: number[] = [];
  ends: number[] = [];
  values: number[] = [];
  colons: number[] = [];
  /** The number of values of all messages, with the commas between them. */
  listed = 0;
  /** The number of values of the whole body. */
  total = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The number of messages. */
  get size(): number {
    return this.starts.length;
  }

  /** Adds `count` messages of an earlier body from index `from` on, which have the same bytes at a position that is `shift` higher. */
  take(earlier: BodyMap, from: number, count: number, shift: number): void {
    const end = from + count;
    if (shift === 0 && this.size === 0 && from === 0) {
      this.starts = earlier.starts.slice(0, end);
      this.ends = earlier.ends.slice(0, end);
      this.values = earlier.values.slice(0, end);
      this.colons = earlier.colons.slice(0, end);
    } else {
      for (let at = from; at < end; at++) {
        this.starts.push(earlier.starts[at]! + shift);
        this.ends.push(earlier.ends[at]! + shift);
        this.values.push(earlier.values[at]!);
        this.colons.push(earlier.colons[at]!);
      }
    }
    if (count === earlier.size) this.total += earlier.listed;
    else {
      for (let at = from; at < end; at++) this.total += earlier.values[at]!;
      // The commas between the messages.
      this.total += count - 1;
    }
  }
}

/** Parts of a body that a scan can skip, because they have the same bytes as parts of an earlier body. */
export interface KnownParts {
  /** Returns how many values a member contains whose value begins at `at` and ends at `to`; null if the value is not known. */
  member(name: string, bytes: Buffer, at: number): ValueSpan | null;
  /**
   * Returns an earlier body whose messages this body may repeat; null for none, `alone` if no part of the body can be known or will be kept.
   * @param from the first byte of the first message
   * @param to the byte after the second message
   */
  conversation(bytes: Buffer, from: number, to: number): BodyMap | 'alone' | null;
}

/** A scanned body, and its parts that are known. */
export interface ScannedBody {
  readonly map: BodyMap;
  /** The members whose values are known. */
  readonly known: ReadonlySet<string>;
  /** The earlier body with the known messages; null for none. */
  readonly earlier: BodyMap | null;
  /** The known messages, as pairs of the first index and the index after the last. */
  readonly runs: readonly number[];
}

/** How many messages the scan reads before it looks for an earlier body. */
export const PROPOSED_BY = 2;

/**
 * Finds the members and messages of a body. For a body that is not valid JSON the result has no meaning, but the scan ends.
 * @param valuesMax the most values, as in `beyondLimits`
 * @returns null for a body that must be read whole: it exceeds a limit, is no object, has members whose names are equal or written with
 * escapes, or is alone
 */
export function scanBody(bytes: Buffer, valuesMax: number, parts: KnownParts): ScannedBody | null {
  const scan = new Scan(bytes, valuesMax, parts);
  return scan.read() ? scan : null;
}

class Scan implements ScannedBody {
  readonly map: BodyMap;
  readonly known = new Set<string>();
  readonly runs: number[] = [];
  earlier: BodyMap | null = null;
  readonly #bytes: Buffer;
  readonly #valuesMax: number;
  readonly #parts: KnownParts;
  #at = 0;
  /** Of the value that was read last. */
  #values = 0;
  #colons = 0;

  constructor(bytes: Buffer, valuesMax: number, parts: KnownParts) {
    this.map = new BodyMap(bytes);
    this.#bytes = bytes;
    this.#valuesMax = valuesMax;
    this.#parts = parts;
  }

  read(): boolean {
    const { map } = this;
    if (this.#next() !== OPEN_BRACE) return false;
    map.total = 1;
    this.#at++;
    let mark = this.#next();
    if (mark === CLOSE_BRACE) return false;
    for (;;) {
      if (mark !== QUOTE || !this.#readMember()) return false;
      mark = this.#next();
      this.#at++;
      if (mark === CLOSE_BRACE) break;
      if (mark !== COMMA) return false;
      map.total++;
      mark = this.#next();
    }
    this.#next();
    return this.#at === this.#bytes.length && map.total <= this.#valuesMax;
  }

  #readMember(): boolean {
    const { map } = this;
    const from = this.#at + 1;
    const end = endOfString(this.#bytes, from);
    const name = this.#bytes.toString('utf8', from, end);
    if (name.includes('\\') || map.members.has(name)) return false;
    this.#at = end + 1;
    if (this.#next() !== COLON) return false;
    this.#at++;
    const first = this.#next();
    const at = this.#at;
    if (LIST_NAMES.has(name) && first === OPEN_BRACKET && map.list === null) {
      map.list = name;
      if (!this.#readList()) return false;
      map.members.set(name, { from: at, to: this.#at, values: 0, colons: 0 });
      return true;
    }
    const span = this.#parts.member(name, this.#bytes, at);
    if (span !== null) {
      this.known.add(name);
      this.#at = span.to;
      map.members.set(name, span);
      map.total += span.values;
      return true;
    }
    if (!this.#readValue(1)) return false;
    map.members.set(name, { from: at, to: this.#at, values: this.#values, colons: this.#colons });
    map.total += this.#values;
    return true;
  }

  /** Reads the list of messages. A message must be an object. */
  #readList(): boolean {
    const { map } = this;
    map.total++;
    this.#at++;
    if (this.#next() === CLOSE_BRACKET) {
      this.#at++;
      return true;
    }
    const first = this.#at;
    const total = map.total;
    for (;;) {
      if (this.#bytes[this.#at] !== OPEN_BRACE) return false;
      if (!this.#takeKnown()) {
        const from = this.#at;
        if (!this.#readValue(2)) return false;
        map.starts.push(from);
        map.ends.push(this.#at);
        map.values.push(this.#values);
        map.colons.push(this.#colons);
        map.total += this.#values;
      }
      if (this.earlier === null && map.size === PROPOSED_BY) {
        const earlier = this.#parts.conversation(this.#bytes, first, this.#at);
        if (earlier === 'alone') return false;
        if (earlier !== null) {
          this.earlier = earlier;
          // Most probably, the messages that were just read are known.
          this.#at = first;
          map.total = total;
          for (const column of [map.starts, map.ends, map.values, map.colons]) column.length = 0;
          continue;
        }
      }
      const mark = this.#next();
      this.#at++;
      if (mark === CLOSE_BRACKET) {
        map.listed = map.total - total;
        return true;
      }
      if (mark !== COMMA) return false;
      map.total++;
      this.#next();
    }
  }

  /** Skips the messages from here on that are the same as in the earlier body, at the same index. Returns whether there are any. */
  #takeKnown(): boolean {
    const { map, earlier } = this;
    const from = map.size;
    if (earlier === null || from >= earlier.size) return false;
    const to = sameUntil(earlier, from, this.#bytes, this.#at);
    if (to === from) return false;
    const shift = this.#at - earlier.starts[from]!;
    map.take(earlier, from, to - from, shift);
    this.runs.push(from, to);
    this.#at = earlier.ends[to - 1]! + shift;
    return true;
  }

  /** Reads a value. @param outer the number of objects and lists around it */
  #readValue(outer: number): boolean {
    const bytes = this.#bytes;
    const first = bytes[this.#at];
    this.#values = 0;
    this.#colons = 0;
    if (first === QUOTE) {
      this.#at = endOfString(bytes, this.#at + 1) + 1;
      return this.#at <= bytes.length;
    }
    return first === OPEN_BRACE || first === OPEN_BRACKET ? this.#readNested(outer) : this.#readWord();
  }

  /** Reads a number or a word such as `true`. */
  #readWord(): boolean {
    const from = this.#at;
    for (; this.#at < this.#bytes.length; this.#at++) {
      const byte = this.#bytes[this.#at]!;
      if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= SPACE) break;
    }
    return this.#at > from;
  }

  #readNested(outer: number): boolean {
    const bytes = this.#bytes;
    const left = this.#valuesMax - this.map.total;
    let depth = outer;
    let values = 0;
    let colons = 0;
    for (let at = this.#at; at < bytes.length; at++) {
      switch (bytes[at]) {
        case QUOTE:
          at = endOfString(bytes, at + 1);
          break;
        case COLON:
          colons++;
          break;
        case COMMA:
          values++;
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (++depth > DEPTH_MAX || ++values > left) return false;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (--depth > outer) break;
          this.#at = at + 1;
          this.#values = values;
          this.#colons = colons;
          return values <= left;
      }
    }
    return false;
  }

  /** Skips white space. Returns the next byte. */
  #next(): number | undefined {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON, SPACE] = [0x22, 0x5c, 0x2c, 0x3a, 0x20] as const;
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d] as const;

/** Returns the index after the last message of the earlier body that `bytes` repeats from `at` on, beginning with message `from`. */
function sameUntil(earlier: BodyMap, from: number, bytes: Buffer, at: number): number {
  const { starts, ends, size } = earlier;
  const shift = at - starts[from]!;
  const isSame = (begin: number, end: number) =>
    end + shift <= bytes.length && earlier.bytes.compare(bytes, begin + shift, end + shift, begin, end) === 0;
  if (isSame(starts[from]!, ends[size - 1]!)) return size;
  // The steps grow and shrink again, so that a body in which every second message has changed takes few comparisons.
  let same = from;
  let step = 1;
  let isGrowing = true;
  while (step >= 1) {
    const next = same + step;
    if (next < size && isSame(same === from ? starts[from]! : ends[same - 1]!, ends[next - 1]!)) same = next;
    else isGrowing = false;
    step = isGrowing ? 2 * step : Math.floor(step / 2);
  }
  return same;
}

/** A string with more escaped quotes than this is read byte by byte, which is then faster. */
const LOOKUPS_MAX = 256;

/** Returns where the string that begins at `from` ends: at the first quote that follows an even number of backslashes. */
function endOfString(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(QUOTE, from);
  for (let lookups = 0; at >= 0 && lookups < LOOKUPS_MAX; lookups++) {
    let before = at - 1;
    while (before >= from && bytes[before] === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
    at = bytes.indexOf(QUOTE, at + 1);
  }
  if (at < 0) return bytes.length;
  let i = from;
  for (; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) break;
    if (bytes[i] === BACKSLASH) i++;
  }
  return i;
}
