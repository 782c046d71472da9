import { DIGIT, FOLDED, fold, GAP, isUnspaced, MARK } from './letters.ts';

/**
 * Patterns as trees of letters, one for each first letter, which grows when that is first seen: most letters of most
 * scripts never are, and a server starts the sooner. Patterns are folded words; `_` stands for a gap between words, and
 * a last `*` for any ending. Where words are not parted by blanks any ending will do.
 */
export interface Trie<T> {
  /** The place of each first letter's tree in `trees`; 0 for none. */
  readonly roots: Uint16Array;
  readonly trees: (Tree<T> | null)[];
  /** What each tree grows from. */
  readonly seeds: (readonly [pattern: string, value: T])[][];
}

/** The children of a node stand together, ascending, and a node's number is its place: a step is a short search. */
interface Tree<T> {
  /** The last letter of each node. */
  readonly letters: Uint16Array;
  /** Where the children of each node begin; they end where the next node's begin. */
  readonly children: Uint32Array;
  /** What is said by a word that ends at a node, and by any that goes through it. */
  readonly whole: readonly (readonly T[] | undefined)[];
  readonly begun: readonly (readonly T[] | undefined)[];
}

const BLANK = 0x20;

interface TriePattern<T> {
  readonly text: string;
  readonly isOpen: boolean;
  readonly value: T;
}

export function trieOf<T>(patterns: Iterable<readonly [pattern: string, value: T]>): Trie<T> {
  const trie: Trie<T> = { roots: new Uint16Array(0x10000), trees: [null], seeds: [[]] };
  for (const seed of patterns) {
    const first = FOLDED[seed[0].charCodeAt(0)]!;
    if (trie.roots[first] === 0) {
      trie.roots[first] = trie.trees.push(null) - 1;
      trie.seeds.push([]);
    }
    trie.seeds[trie.roots[first]!]!.push(seed);
  }
  return trie;
}

/** The tree of patterns that all begin with the same letter: its root is that. */
function grow<T>(seeds: readonly (readonly [pattern: string, value: T])[]): Tree<T> {
  // In order, so that what goes through a node is a stretch of the list, and its children are stretches of that.
  const all = Array.from(seeds, parsePattern).sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  // Of each node: its stretch, and how deep it lies.
  const froms = [0];
  const tos = [all.length];
  const depths = [1];
  const letters = [0];
  const children: number[] = [];
  const whole: (T[] | undefined)[] = [];
  const begun: (T[] | undefined)[] = [];
  for (let node = 0; node < froms.length; node++) {
    const to = tos[node]!;
    const depth = depths[node]!;
    children.push(froms.length);
    let at = froms[node]!;
    while (at < to && all[at]!.text.length === depth) at++;
    whole.push(valuesOf(all, froms[node]!, at, false));
    begun.push(valuesOf(all, froms[node]!, at, true));
    while (at < to) {
      const letter = all[at]!.text.charCodeAt(depth);
      froms.push(at);
      while (at < to && all[at]!.text.charCodeAt(depth) === letter) at++;
      tos.push(at);
      depths.push(depth + 1);
      letters.push(letter);
    }
  }
  children.push(froms.length);
  return { letters: Uint16Array.from(letters), children: Uint32Array.from(children), whole, begun };
}

/** Of the patterns in a stretch that end so; undefined where none does. */
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

/** What is told of each pattern that begins at a place. */
export interface MatchListener<T> {
  found(values: readonly T[], from: number, to: number): void;
}

/** Tells `finder` the values of every pattern that begins at `from`, and where it ends. */
export function matchAt<T>(trie: Trie<T>, text: string, from: number, to: number, finder: MatchListener<T>): void {
  const isSpaced = !isUnspaced(text.charCodeAt(from));
  const root = trie.roots[FOLDED[text.charCodeAt(from)]!]!;
  if (root === 0) return;
  trie.trees[root] ??= grow(trie.seeds[root]!);
  const tree = trie.trees[root]!;
  let node = 0;
  let at = from + 1;
  do {
    const begun = tree.begun[node];
    if (begun) finder.found(begun, from, at);
    let letter = at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    while (letter === MARK) letter = ++at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    if (letter < BLANK || (isSpaced && isUnspaced(letter))) {
      const whole = tree.whole[node];
      if (whole) finder.found(whole, from, at);
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

/** 0, which is no child's place, where there is none. */
function childOf<T>({ letters, children }: Tree<T>, node: number, letter: number): number {
  let low = children[node]!;
  let high = children[node + 1]!;
  const end = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (letters[middle]! < letter) low = middle + 1;
    else high = middle;
  }
  return low < end && letters[low] === letter ? low : 0;
}

/** Where the next word of a phrase begins: behind a blank, an apostrophe, a hyphen; -1 where a line, comma or quote parts them. */
function nextWord(text: string, from: number, to: number): number {
  for (let at = from; at < to && at < from + 4; at++) {
    const code = text.charCodeAt(at);
    if (FOLDED[code]! > BLANK) return at;
    if (code === 0x0a || code === 0x2c || code === 0x3a || code === 0x22 || FOLDED[code] === DIGIT) return -1;
  }
  return -1;
}
