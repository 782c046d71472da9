import { DIGIT, FOLDED, fold, GAP, isUnspaced, MARK } from './letters.ts';

/** A pattern is folded words; `_` stands for a gap between words, and a last `*` for any ending. */
type Pattern = readonly [pattern: string, value: number];

interface ParsedPattern {
  readonly text: string;
  readonly isOpen: boolean;
  readonly value: number;
}

const BLANK = 0x20;
const BEHIND_Z = 0x7b;

/** The figures of a node, side by side, so that a step reads one place in memory. */
const FIGURES = 4;
/** The first child. Children are adjacent and ascending: the blank, `a` to `z`, then all other letters. */
const FIRST = 0;
/** A bit for each child that is the blank or one of `a` to `z`: the last five bits of its code. */
const LATIN = 1;
/** How many other children there are. */
const OTHERS = 2;
/** Where the values of the patterns that end at the node stand; 0 for none. */
const ENDS = 3;
const NODES_AT_FIRST = 8_192;
/** A text matches less than so many patterns at one place. */
const MATCHES_MAX = 128;

/**
 * Patterns as one tree per first letter, built at the first use: most letters of most scripts never occur, and a server
 * starts sooner. All trees stand in one array of numbers. In scripts without blanks every pattern is open-ended.
 */
export class Trie {
  /** Groups of values, one after the other: their number, then they. */
  values: readonly number[];
  /** The group in `values` of each match of the last `matchAt`. */
  readonly groups = new Uint32Array(MATCHES_MAX);
  /** The offset behind each match of the last `matchAt`. */
  readonly ends = new Uint32Array(MATCHES_MAX);

  readonly #values: number[] = [0];
  /** By first letter: its node; below 0 while its tree is not built, then the place of its patterns; 0 for none. */
  readonly #roots = new Int32Array(0x10000);
  readonly #patterns: Pattern[][] = [[]];
  #nodes = new Int32Array(FIGURES * NODES_AT_FIRST);
  /** The last letter of each node. */
  #letters = new Uint16Array(NODES_AT_FIRST);
  /** Node 0 stands for none. */
  #size = 1;

  constructor(patterns: Iterable<Pattern>) {
    this.values = this.#values;
    for (const pattern of patterns) {
      const first = FOLDED[pattern[0].charCodeAt(0)]!;
      if (this.#roots[first] === 0) this.#roots[first] = 1 - this.#patterns.push([]);
      this.#patterns[-this.#roots[first]!]!.push(pattern);
    }
  }

  /** Finds every pattern that begins at `from`, the shortest first, and returns their number; see `groups` and `ends`. */
  matchAt(text: string, from: number, to: number): number {
    const first = text.charCodeAt(from);
    let node = this.#roots[FOLDED[first]!]!;
    if (node === 0) return 0;
    if (node < 0) node = this.#build(FOLDED[first]!);
    const nodes = this.#nodes;
    const isSpaced = !isUnspaced(first);
    let found = 0;
    let at = from + 1;
    do {
      const group = nodes[FIGURES * node + ENDS]!;
      // Values of open-ended patterns stand before those of words that end here.
      if (group !== 0 && this.#values[group]! > 0) found = this.#note(found, group, at);
      let letter = at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
      while (letter === MARK) letter = ++at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
      if (letter < BLANK || (isSpaced && isUnspaced(letter))) {
        if (group !== 0) {
          const whole = group + this.#values[group]! + 1;
          if (this.#values[whole]! > 0) found = this.#note(found, whole, at);
        }
        node = this.#childOf(node, BLANK);
        if (node === 0) return found;
        at = nextWord(text, at, to);
        if (at < 0) return found;
      } else {
        node = this.#childOf(node, letter);
        at++;
      }
    } while (node !== 0);
    return found;
  }

  #note(found: number, group: number, end: number): number {
    this.groups[found] = group;
    this.ends[found] = end;
    return found + 1;
  }

  /** Returns 0 for none. */
  #childOf(node: number, letter: number): number {
    const nodes = this.#nodes;
    const at = FIGURES * node;
    const mask = nodes[at + LATIN]!;
    if (letter < BEHIND_Z) {
      const bit = 1 << (letter & 31);
      return (mask & bit) === 0 ? 0 : nodes[at + FIRST]! + bitsIn(mask & (bit - 1));
    }
    let left = nodes[at + OTHERS]!;
    if (left === 0) return 0;
    const letters = this.#letters;
    let low = nodes[at + FIRST]! + bitsIn(mask);
    const end = low + left;
    while (left > 0) {
      const half = left >> 1;
      if (letters[low + half]! < letter) {
        low += half + 1;
        left -= half + 1;
      } else left = half;
    }
    return low < end && letters[low] === letter ? low : 0;
  }

  /** Builds the tree of the patterns with a first letter, and returns its root. */
  #build(first: number): number {
    // Sorted, so that each node covers a range of the list, and its children parts of that range.
    const all = Array.from(this.#patterns[-this.#roots[first]!]!, parsePattern);
    all.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
    const root = this.#grow(first);
    // By node from the root on: its range and its depth.
    const froms = [0];
    const tos = [all.length];
    const depths = [1];
    for (let nth = 0; nth < froms.length; nth++) {
      const to = tos[nth]!;
      const depth = depths[nth]!;
      let at = froms[nth]!;
      while (at < to && all[at]!.text.length === depth) at++;
      const node = FIGURES * (root + nth);
      this.#nodes[node + FIRST] = this.#size;
      this.#nodes[node + ENDS] = this.#addValues(all.slice(froms[nth]!, at));
      while (at < to) {
        const letter = all[at]!.text.charCodeAt(depth);
        froms.push(at);
        while (at < to && all[at]!.text.charCodeAt(depth) === letter) at++;
        tos.push(at);
        depths.push(depth + 1);
        this.#grow(letter);
        if (letter < BEHIND_Z) this.#nodes[node + LATIN]! |= 1 << (letter & 31);
        else this.#nodes[node + OTHERS]!++;
      }
    }
    this.#roots[first] = root;
    return root;
  }

  /** Adds a node and returns it. */
  #grow(letter: number): number {
    if (this.#size === this.#letters.length) {
      const [nodes, letters] = [this.#nodes, this.#letters];
      this.#nodes = new Int32Array(2 * nodes.length);
      this.#nodes.set(nodes);
      this.#letters = new Uint16Array(2 * letters.length);
      this.#letters.set(letters);
    }
    this.#letters[this.#size] = letter;
    return this.#size++;
  }

  /** Adds two groups: of open-ended patterns, and of the others. Returns where they stand; 0 for no patterns. */
  #addValues(patterns: readonly ParsedPattern[]): number {
    if (patterns.length === 0) return 0;
    const place = this.#values.length;
    for (const isOpen of [true, false]) {
      const own = patterns.filter((one) => one.isOpen === isOpen);
      this.#values.push(own.length, ...own.map(({ value }) => value));
    }
    return place;
  }
}

function parsePattern([pattern, value]: Pattern): ParsedPattern {
  const hasStar = pattern.endsWith('*');
  const isOpen = hasStar || isUnspaced(pattern.charCodeAt(pattern.length - 1));
  return { text: fold(hasStar ? pattern.slice(0, -1) : pattern), isOpen, value };
}

/** Number of bits set, in pairs, fours and bytes at once. */
function bitsIn(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The start of the next word of a phrase, behind a blank, apostrophe or hyphen; -1 behind a line end, comma or quote. */
function nextWord(text: string, from: number, to: number): number {
  for (let at = from; at < to && at < from + 4; at++) {
    const code = text.charCodeAt(at);
    if (FOLDED[code]! > BLANK) return at;
    if (code === 0x0a || code === 0x2c || code === 0x3a || code === 0x22 || FOLDED[code] === DIGIT) return -1;
  }
  return -1;
}
