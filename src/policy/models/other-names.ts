import type { NamedItem } from '../check/section-checks.ts';
import { type ScalarTree, type Tree, valueAt } from '../yaml/tree.ts';

/** The names that a model or selector states besides its own. */
export interface OtherNames {
  readonly name: string;
  readonly path: string;
  readonly aliases: readonly ScalarTree[];
  /** The lists of its fallbacks: one for all reasons, or one for each reason. */
  readonly fallbacks: readonly (readonly ScalarTree[])[];
}

/**
 * Returns the other names of a model or selector; null if it states none. They are read from the tree, so that other mistakes in the entry
 * do not hide them.
 */
export function otherNames({
  name,
  path,
  tree,
}: Pick<NamedItem<unknown>, 'name' | 'path' | 'tree'>): OtherNames | null {
  const aliases = scalarsIn(valueAt(tree, 'aliases')).filter(({ value }) => typeof value === 'string');
  const stated = valueAt(tree, 'fallbacks');
  const lists = stated?.kind === 'map' ? stated.entries.map(({ value }) => value) : [stated];
  const fallbacks = lists.map(scalarsIn).filter((list) => list.length > 0);
  return aliases.length + fallbacks.length > 0 ? { name, path, aliases, fallbacks } : null;
}

/** Returns the items of a list that are single values. */
export const scalarsIn = (list: Tree | undefined): readonly ScalarTree[] =>
  list?.kind === 'list' ? list.items.filter((item) => item.kind === 'scalar') : [];
