import { DIGIT, FOLDED, fold, GAP, isUnspaced, MARK } from './letters.ts';

/**
 * Patterns as one tree per first letter, built at the first use: most letters of most scripts never occur, and a server
 * starts sooner. Patterns are folded words; `_` stands for a gap between words, and a last `*` for any ending. In scripts
 * without blanks every pattern is open-ended.
 */
export interface Trie<T> {
  /** Index in `trees` by first letter; 0 for none. */
  readonly roots: Uint16Array;
  readonly trees: (Tree<T> | null)[];
  /** By tree. */
  readonly patterns: (readonly [pattern: string, value: T])[][];
}

/** Nodes by index. The children of a node are adjacent and ascending: the blank, `a` to `z`, then all other letters. */
interface Tree<T> {
  /** The last letter of each node. */
  readonly letters: Uint16Array;
  /**
   * Index of the first child of each node; the next node's first child ends them. `ENDS_WHOLE` and `ENDS_BEGUN` are set where
   * patterns end, so that most steps touch no list of values.
   */
  readonly children: Uint32Array;
  /** By node, a bit for each child that is the blank or one of `a` to `z`: the last five bits of its code. */
  readonly latin: Uint32Array;
  /** Values of words that end at a node. */
  readonly whole: readonly (readonly T[] | undefined)[];
  /** Values of open-ended patterns that end at a node. */
  readonly begun: readonly (readonly T[] | undefined)[];
}

const BLANK = 0x20;
const BEHIND_Z = 0x7b;
const ENDS_WHOLE = 1 << 30;
const ENDS_BEGUN = 1 << 29;
const CHILD = ENDS_BEGUN - 1;

interface TriePattern<T> {
  readonly text: string;
  readonly isOpen: boolean;
  readonly value: T;
}

export function trieOf<T>(patterns: Iterable<readonly [pattern: string, value: T]>): Trie<T> {
  const trie: Trie<T> = { roots: new Uint16Array(0x10000), trees: [null], patterns: [[]] };
  for (const seed of patterns) {
    const first = FOLDED[seed[0].charCodeAt(0)]!;
    if (trie.roots[first] === 0) {
      trie.roots[first] = trie.trees.push(null) - 1;
      trie.patterns.push([]);
    }
    trie.patterns[trie.roots[first]!]!.push(seed);
  }
  return trie;
}

/** Builds the tree of patterns with the same first letter, which is its root. */
function buildTree<T>(patterns: readonly (readonly [pattern: string, value: T])[]): Tree<T> {
  // Sorted, so that each node covers a range of the list, and its children parts of that range.
  const all = Array.from(patterns, parsePattern).sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  // By node: its range and its depth.
  const froms = [0];
  const tos = [all.length];
  const depths = [1];
  const letters = [0];
  const children: number[] = [];
  const latin: number[] = [];
  const whole: (T[] | undefined)[] = [];
  const begun: (T[] | undefined)[] = [];
  for (let node = 0; node < froms.length; node++) {
    const to = tos[node]!;
    const depth = depths[node]!;
    const child = froms.length;
    let at = froms[node]!;
    while (at < to && all[at]!.text.length === depth) at++;
    whole.push(valuesOf(all, froms[node]!, at, false));
    begun.push(valuesOf(all, froms[node]!, at, true));
    children.push(child | (whole[node] ? ENDS_WHOLE : 0) | (begun[node] ? ENDS_BEGUN : 0));
    latin.push(0);
    while (at < to) {
      const letter = all[at]!.text.charCodeAt(depth);
      if (letter < BEHIND_Z) latin[node]! |= 1 << (letter & 31);
      froms.push(at);
      while (at < to && all[at]!.text.charCodeAt(depth) === letter) at++;
      tos.push(at);
      depths.push(depth + 1);
      letters.push(letter);
    }
  }
  children.push(froms.length);
  const nodes = { letters: Uint16Array.from(letters), children: Uint32Array.from(children) };
  return { ...nodes, latin: Uint32Array.from(latin), whole, begun };
}

/** Values of the open or closed patterns in a range; undefined for none. */
function valuesOf<T>(all: readonly TriePattern<T>[], from: number, to: number, isOpen: boolean): T[] | undefined {
  let values: T[] | undefined;
  for (let at = from; at < to; at++) {
    const one = all[at]!;
    if (one.isOpen !== isOpen) continue;
    if (values) values.push(one.value);
    else values = [one.value];
  }
  return values;
}

function parsePattern<T>([pattern, value]: readonly [string, T]): TriePattern<T> {
  const hasStar = pattern.endsWith('*');
  const isOpen = hasStar || isUnspaced(pattern.charCodeAt(pattern.length - 1));
  return { text: fold(hasStar ? pattern.slice(0, -1) : pattern), isOpen, value };
}

/** Receives the values of each pattern found, and its range. */
interface MatchListener<T> {
  onMatch(values: readonly T[], from: number, to: number): void;
}

/** Reports every pattern that begins at `from`. */
export function matchAt<T>(trie: Trie<T>, text: string, from: number, to: number, listener: MatchListener<T>): void {
  const first = text.charCodeAt(from);
  const root = trie.roots[FOLDED[first]!]!;
  if (root === 0) return;
  const isSpaced = !isUnspaced(first);
  trie.trees[root] ??= buildTree(trie.patterns[root]!);
  const tree = trie.trees[root]!;
  let node = 0;
  let at = from + 1;
  do {
    const ends = tree.children[node]!;
    if ((ends & ENDS_BEGUN) !== 0) listener.onMatch(tree.begun[node]!, from, at);
    let letter = at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    while (letter === MARK) letter = ++at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    if (letter < BLANK || (isSpaced && isUnspaced(letter))) {
      if ((ends & ENDS_WHOLE) !== 0) listener.onMatch(tree.whole[node]!, from, at);
      node = childOf(tree, node, BLANK);
      if (node === 0) return;
      at = nextWord(text, at, to);
      if (at < 0) return;
    } else {
      node = childOf(tree, node, letter);
      at++;
    }
  } while (node !== 0);
}

/** Returns 0, which is never a child, for none. */
function childOf<T>({ letters, children, latin }: Tree<T>, node: number, letter: number): number {
  const first = children[node]! & CHILD;
  const mask = latin[node]!;
  if (letter < BEHIND_Z) {
    const bit = 1 << (letter & 31);
    return (mask & bit) === 0 ? 0 : first + bitsIn(mask & (bit - 1));
  }
  const end = children[node + 1]! & CHILD;
  let low = first + bitsIn(mask);
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (letters[middle]! < letter) low = middle + 1;
    else high = middle;
  }
  return low < end && letters[low] === letter ? low : 0;
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
