import { DIGIT, FOLDED, fold, GAP, isUnspaced, MARK } from './letters.ts';

/** A pattern consists of folded words. In a pattern, `_` stands for a gap between words, and a final `*` for any ending. */
type Pattern = readonly [pattern: string, value: number];

/**
 * The patterns of a first letter whose tree is not built yet. The patterns are joined to one text, because the garbage collector would have
 * to visit each of 10,000 strings.
 */
interface UnbuiltTree {
  /** The patterns, separated by `BETWEEN`. */
  readonly patterns: string;
  readonly values: Int32Array;
}
const BETWEEN = '\n';

type ParsedPattern = ReturnType<typeof parsePattern>;

const BLANK = 0x20;
const BEHIND_Z = 0x7b;

/** The number of figures per node. The figures of a node are adjacent, so that a step reads one location in memory. */
const FIGURES = 2;
/**
 * The offset of a node's first child, stored above its flags. The children of a node are adjacent and in ascending order: the blank, `a` to
 * `z`, then all other letters. If patterns end at the node, the entry before the first child contains their groups of values.
 */
const FIRST = 0;
/** The offset of a bit mask with a bit for each child that is the blank or one of `a` to `z`: the last five bits of its code. */
const LATIN = 1;
/** Flags of nodes at which open-ended patterns, or other patterns, end. */
const ENDS_BEGUN = 1;
const ENDS_WHOLE = 2;
const FLAG_BITS = 2;
const NODES_AT_FIRST = 8_192;
/** The maximum number of patterns that can match at one position. */
const MATCHES_MAX = 128;

/**
 * Patterns as one tree per first letter. A trie builds the tree of a letter when the tree is first used, so that the server starts sooner:
 * most letters of most scripts never occur. All trees of a trie are in one array of numbers, branch by branch, so that the letters of a
 * word are close together. In scripts without spaces every pattern is open-ended.
 */
export class Trie {
  /** Groups of values, one after another. Each group of values begins with the number of its values. */
  values = new Int32Array(NODES_AT_FIRST);
  /** The number of matches at the last position, and for each match its group in `values`. */
  found = 0;
  readonly groups = new Uint32Array(MATCHES_MAX);
  /** For each match, the offset after the match. */
  readonly ends = new Uint32Array(MATCHES_MAX);

  #valuesSize = 1;
  /** The root node for each first letter; -1 if its tree is not built yet, 0 if there are no patterns. */
  readonly #roots = new Int32Array(0x10000);
  readonly #unbuilt = new Map<number, UnbuiltTree>();
  #nodes = new Int32Array(FIGURES * NODES_AT_FIRST);
  /** For each node, its last letter, and the number of its children that are not in `LATIN`. */
  #letters = new Uint16Array(NODES_AT_FIRST);
  #others = new Uint16Array(NODES_AT_FIRST);
  /** The number of used nodes. The node 0 means no node. */
  #size = 1;

  constructor(patterns: Iterable<Pattern>) {
    const found = new Map<number, { readonly texts: string[]; readonly values: number[] }>();
    for (const [text, value] of patterns) {
      const first = FOLDED[text.charCodeAt(0)]!;
      const same = found.get(first);
      if (same) {
        same.texts.push(text);
        same.values.push(value);
      } else found.set(first, { texts: [text], values: [value] });
    }
    for (const [first, { texts, values }] of found) {
      this.#roots[first] = -1;
      this.#unbuilt.set(first, { patterns: texts.join(BETWEEN), values: new Int32Array(values) });
    }
  }

  /**
   * Finds every pattern that begins at `from`, shortest first, and returns their number. The results of `matchAt` are in `groups` and
   * `ends`.
   */
  matchAt(text: string, from: number, to: number): number {
    const first = text.charCodeAt(from);
    this.finish(this.begin(FOLDED[first]!, from + 1), !isUnspaced(first), text, from + 1, to);
    return this.found;
  }

  /**
   * Begins to match at a folded letter, for callers that read the letters of a word anyway. After `begin`, a caller calls `step` for each
   * further letter and `finish` for the rest of the word. `begin` returns the node after the letter; 0 if no pattern begins with the
   * letter.
   *
   * @param end the offset after the letter
   */
  begin(letter: number, end: number): number {
    this.found = 0;
    const root = this.#roots[letter]!;
    return root === 0 ? 0 : this.#arrive(root < 0 ? this.#build(letter) : root, end);
  }

  /**
   * Returns the node after the next folded letter of a word, where `end` is the offset after the letter; 0 if no pattern continues with the
   * letter.
   */
  step(node: number, letter: number, end: number): number {
    const child = letter < BEHIND_Z ? this.#latinChild(node, letter) : this.#otherChild(node, letter);
    return child === 0 ? 0 : this.#arrive(child, end);
  }

  /** Records the open-ended patterns that end at a node. */
  #arrive(node: number, end: number): number {
    const figure = this.#nodes[FIGURES * node + FIRST]!;
    if ((figure & ENDS_BEGUN) !== 0) this.#note(this.#nodes[FIGURES * ((figure >> FLAG_BITS) - 1)]!, end);
    return node;
  }

  /**
   * Matches the rest of a word, and the phrases that continue after it. @param isSpaced whether a letter of another script ends the word
   */
  finish(from: number, isSpaced: boolean, text: string, begin: number, to: number): void {
    let node = from;
    let at = begin;
    while (node !== 0) {
      let letter = at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
      while (letter === MARK) letter = ++at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
      if (letter > BLANK && !(isSpaced && isUnspaced(letter))) node = this.step(node, letter, ++at);
      else {
        const figure = this.#nodes[FIGURES * node + FIRST]!;
        if ((figure & ENDS_WHOLE) !== 0) this.#note(this.#nodes[FIGURES * ((figure >> FLAG_BITS) - 1) + 1]!, at);
        node = this.#latinChild(node, BLANK);
        if (node === 0) return;
        at = nextWord(text, at, to);
        if (at < 0) return;
        this.#arrive(node, at);
      }
    }
  }

  #note(group: number, end: number): void {
    this.groups[this.found] = group;
    this.ends[this.found++] = end;
  }

  /** Returns the child of a node for the blank or one of `a` to `z`; 0 for none. */
  #latinChild(node: number, letter: number): number {
    const mask = this.#nodes[FIGURES * node + LATIN]!;
    const bit = 1 << (letter & 31);
    if ((mask & bit) === 0) return 0;
    const before = mask & (bit - 1);
    const first = this.#nodes[FIGURES * node + FIRST]! >> FLAG_BITS;
    return before === 0 ? first : first + bitsIn(before);
  }

  /** Returns the child of a node for any other letter; 0 for none. */
  #otherChild(node: number, letter: number): number {
    let left = this.#others[node]!;
    if (left === 0) return 0;
    const letters = this.#letters;
    const first = this.#nodes[FIGURES * node + FIRST]! >> FLAG_BITS;
    let low = first + bitsIn(this.#nodes[FIGURES * node + LATIN]!);
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
    // The patterns are sorted, so that each node covers a range of the list and its children cover parts of that range.
    const { patterns, values } = this.#unbuilt.get(first)!;
    this.#unbuilt.delete(first);
    const all = patterns.split(BETWEEN).map((pattern, at) => parsePattern(pattern, values[at]!));
    all.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
    const root = this.#grow(first);
    this.#branch(root, all, 1);
    this.#roots[first] = root;
    return root;
  }

  /** Adds the nodes below a node. @param all the patterns through the node, in order; @param depth the number of letters of the node */
  #branch(node: number, all: readonly ParsedPattern[], depth: number): void {
    let at = 0;
    while (at < all.length && all[at]!.text.length === depth) at++;
    const begun = this.#addValues(all.slice(0, at).filter(({ isOpen }) => isOpen));
    const whole = this.#addValues(all.slice(0, at).filter(({ isOpen }) => !isOpen));
    if (begun + whole > 0) {
      const groups = FIGURES * this.#grow(0);
      this.#nodes[groups] = begun;
      this.#nodes[groups + 1] = whole;
    }
    const flags = (begun > 0 ? ENDS_BEGUN : 0) | (whole > 0 ? ENDS_WHOLE : 0);
    this.#nodes[FIGURES * node + FIRST] = (this.#size << FLAG_BITS) | flags;
    const branches: { readonly child: number; readonly from: number; readonly to: number }[] = [];
    while (at < all.length) {
      const from = at;
      const letter = all[at]!.text.charCodeAt(depth);
      while (at < all.length && all[at]!.text.charCodeAt(depth) === letter) at++;
      branches.push({ child: this.#grow(letter), from, to: at });
      if (letter < BEHIND_Z) this.#nodes[FIGURES * node + LATIN]! |= 1 << (letter & 31);
      else this.#others[node]!++;
    }
    for (const { child, from, to } of branches) this.#branch(child, all.slice(from, to), depth + 1);
  }

  /** Adds a node and returns it. */
  #grow(letter: number): number {
    if (this.#size === this.#letters.length) {
      this.#nodes = doubled(this.#nodes);
      this.#letters = doubled(this.#letters);
      this.#others = doubled(this.#others);
    }
    this.#letters[this.#size] = letter;
    return this.#size++;
  }

  /** Adds a group of values and returns its offset; 0 for no patterns. */
  #addValues(patterns: readonly ParsedPattern[]): number {
    if (patterns.length === 0) return 0;
    const place = this.#valuesSize;
    this.#addValue(patterns.length);
    for (const { value } of patterns) this.#addValue(value);
    return place;
  }

  #addValue(value: number): void {
    if (this.#valuesSize === this.values.length) this.values = doubled(this.values);
    this.values[this.#valuesSize++] = value;
  }
}

/** Returns a copy of the figures with twice the room. */
function doubled<Figures extends Int32Array | Uint16Array>(figures: Figures): Figures {
  const larger = new (figures.constructor as new (length: number) => Figures)(2 * figures.length);
  larger.set(figures);
  return larger;
}

function parsePattern(pattern: string, value: number) {
  const hasStar = pattern.endsWith('*');
  const isOpen = hasStar || isUnspaced(pattern.charCodeAt(pattern.length - 1));
  return { text: fold(hasStar ? pattern.slice(0, -1) : pattern), isOpen, value };
}

/** Returns the number of bits set, counted in pairs, then fours, then bytes. */
function bitsIn(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Returns the start of the next word of a phrase after a blank, apostrophe or hyphen; -1 after a line end, comma or quotation mark. */
function nextWord(text: string, from: number, to: number): number {
  for (let at = from; at < to && at < from + 4; at++) {
    const code = text.charCodeAt(at);
    if (FOLDED[code]! > BLANK) return at;
    if (code === 0x0a || code === 0x2c || code === 0x3a || code === 0x22 || FOLDED[code] === DIGIT) return -1;
  }
  return -1;
}
