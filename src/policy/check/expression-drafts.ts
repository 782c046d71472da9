import { type ScalarTree, type Tree, valueAt } from '../yaml/tree.ts';
import type { NamedItem } from './section-checks.ts';

/** An expression that is not checked yet. */
export interface ExpressionDraft {
  /** Path of the expression, such as `constraints.legal.when`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ScalarTree;
}

/** Returns the expression at a path of keys; null if the policy has no expression there. */
export function expressionAt(
  { path, tree }: { readonly path: string; readonly tree: Tree },
  ...keys: readonly string[]
): ExpressionDraft | null {
  const at = valueAt(tree, ...keys);
  if (at?.kind !== 'scalar' || typeof at.value !== 'string') return null;
  return { path: [path, ...keys].join('.'), text: at.value, tree: at };
}

/** Returns the `each` of a budget or rate limit. The words `key`, `team` and `user` are short for `key.id`, `team.id` and `user.id`. */
export function eachOf(named: NamedItem<unknown>): ExpressionDraft | null {
  const each = expressionAt(named, 'each');
  const owner = each?.text.trim();
  return each && (owner === 'key' || owner === 'team' || owner === 'user') ? { ...each, text: `${owner}.id` } : each;
}
