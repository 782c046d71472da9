import type { SourceSpan } from '../report/diagnostics.ts';
import { maskSecrets } from '../report/mask.ts';

/**
 * The most levels of nested maps and lists. The limit is far above the nesting of any real policy. Later passes over the tree recurse to
 * this depth.
 */
export const NESTING_MAX = 64;

/** A value of a policy with its location. A tree is plain data, so a worker can send it. */
export type Tree = MapTree | ListTree | ScalarTree;

export interface MapTree {
  readonly kind: 'map';
  readonly entries: readonly Entry[];
  readonly place: SourceSpan;
}
export interface ListTree {
  readonly kind: 'list';
  readonly items: readonly Tree[];
  readonly place: SourceSpan;
}
export interface ScalarTree {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** The source text without quotes, for exact decimals. */
  readonly source: string;
  readonly place: SourceSpan;
}

/** A key of a map with its value. `place` is the location of the key. */
export interface Entry {
  readonly key: string;
  readonly place: SourceSpan;
  readonly value: Tree;
}

export function entryOf(tree: Tree, key: string): Entry | undefined {
  return tree.kind === 'map' ? tree.entries.find((entry) => entry.key === key) : undefined;
}

/** Returns the value at a path of keys and indexes. */
export function valueAt(tree: Tree, ...path: readonly (string | number)[]): Tree | undefined {
  let at: Tree | undefined = tree;
  for (const step of path) {
    if (!at) return undefined;
    at = at.kind === 'list' ? at.items[Number(step)] : entryOf(at, String(step))?.value;
  }
  return at;
}

/** Returns the location of the value at a path, or of its nearest parent that exists. */
export function placeAt(tree: Tree, ...path: readonly (string | number)[]): SourceSpan {
  for (let depth = path.length; depth > 0; depth--) {
    const found = valueAt(tree, ...path.slice(0, depth));
    if (found) return found.place;
  }
  return tree.place;
}

export function toData(tree: Tree): unknown {
  if (tree.kind === 'scalar') return tree.value;
  if (tree.kind === 'list') return tree.items.map(toData);
  return Object.fromEntries(tree.entries.map((entry) => [entry.key, toData(entry.value)]));
}

/** Describes a value in words: `the text "abc"`. */
export function describe(tree: Tree): string {
  if (tree.kind === 'map') return 'a map';
  if (tree.kind === 'list') return 'a list';
  if (tree.value === null) return 'nothing';
  if (typeof tree.value === 'string') return `the text "${shorten(tree.value)}"`;
  return `\`${shorten(tree.source)}\``;
}

function shorten(text: string): string {
  const safe = maskSecrets(text).replace(/\s+/g, ' ');
  return safe.length > 40 ? `${safe.slice(0, 39)}…` : safe;
}
