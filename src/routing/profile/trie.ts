import { DIGIT, FOLDED, fold, GAP, isUnspaced, MARK } from './letters.ts';

/**
 * Patterns as a tree of letters in two arrays. The children of a node stand together, ascending, and a node's number
 * is its place: a step is a short search in one array. Patterns are folded words; `_` stands for a gap
 * between words, and a last `*` for any ending. Where words are not parted by blanks any ending will do.
 */
export interface Trie<T> {
  /** The last letter of each node. */
  readonly letters: Uint16Array;
  /** Where the children of each node begin; they end where the next node's begin. */
  readonly children: Uint32Array;
  /** The root's child by letter; 0 for none. */
  readonly roots: Uint16Array;
  /** What is said by a word that ends at a node, and by any that goes through it. */
  readonly whole: readonly (readonly T[] | undefined)[];
  readonly begun: readonly (readonly T[] | undefined)[];
}

const BLANK = 0x20;

interface Planted<T> {
  readonly text: string;
  readonly isOpen: boolean;
  readonly value: T;
}

export function trieOf<T>(patterns: Iterable<readonly [pattern: string, value: T]>): Trie<T> {
  // In order, so that what goes through a node is a stretch of the list, and its children are stretches of that.
  const all = Array.from(patterns, planted).sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  const nodes = [{ from: 0, to: all.length, depth: 0 }];
  const letters = [0];
  const children: number[] = [];
  const whole: (T[] | undefined)[] = [];
  const begun: (T[] | undefined)[] = [];
  for (let node = 0; node < nodes.length; node++) {
    const { from, to, depth } = nodes[node]!;
    children.push(nodes.length);
    whole.push(undefined);
    begun.push(undefined);
    let at = from;
    for (; at < to && all[at]!.text.length === depth; at++) {
      const { isOpen, value } = all[at]!;
      const ends = isOpen ? begun : whole;
      ends[node] = [...(ends[node] ?? []), value];
    }
    while (at < to) {
      const letter = all[at]!.text.charCodeAt(depth);
      const first = at;
      while (at < to && all[at]!.text.charCodeAt(depth) === letter) at++;
      nodes.push({ from: first, to: at, depth: depth + 1 });
      letters.push(letter);
    }
  }
  children.push(nodes.length);
  const roots = new Uint16Array(0x10000);
  for (let child = children[0]!; child < children[1]!; child++) roots[letters[child]!] = child;
  return { letters: Uint16Array.from(letters), children: Uint32Array.from(children), roots, whole, begun };
}

function planted<T>([pattern, value]: readonly [string, T]): Planted<T> {
  const hasStar = pattern.endsWith('*');
  const isOpen = hasStar || isUnspaced(pattern.charCodeAt(pattern.length - 1));
  return { text: fold(hasStar ? pattern.slice(0, -1) : pattern), isOpen, value };
}

/** What is told of each pattern that begins at a place. */
export interface Finder<T> {
  found(values: readonly T[], from: number, to: number): void;
}

/** Tells `finder` the values of every pattern that begins at `from`, and where it ends. */
export function matchAt<T>(trie: Trie<T>, text: string, from: number, to: number, finder: Finder<T>): void {
  const isSpaced = !isUnspaced(text.charCodeAt(from));
  let node = trie.roots[FOLDED[text.charCodeAt(from)]!]!;
  let at = from + 1;
  while (node !== 0) {
    const begun = trie.begun[node];
    if (begun) finder.found(begun, from, at);
    let letter = at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    while (letter === MARK) letter = ++at < to ? FOLDED[text.charCodeAt(at)]! : GAP;
    if (letter < BLANK || (isSpaced && isUnspaced(letter))) {
      const whole = trie.whole[node];
      if (whole) finder.found(whole, from, at);
      node = childOf(trie, node, BLANK);
      if (node === 0) return;
      at = nextWord(text, at, to);
      if (at < 0) return;
    } else {
      node = childOf(trie, node, letter);
      at++;
    }
  }
}

function childOf<T>({ letters, children }: Trie<T>, node: number, letter: number): number {
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
