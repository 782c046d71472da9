import type { Budget, BudgetScope } from '../core/budget.ts';
import { CHILD_LABEL } from '../core/caller.ts';
import type { KeyLines } from '../core/holder.ts';

/**
 * The budgets of a policy, which see a child key as the first key of its line: more child keys bring no more money, and no label of
 * theirs leads into another budget.
 */
export function seenByFirstKeys(budgets: readonly Budget[], lines: KeyLines): Budget[] {
  return budgets.map((budget) => ({
    ...budget,
    match: ofFirstKey(budget.match, lines),
    each: ofFirstKey(budget.each, lines),
  }));
}

function ofFirstKey<T>(judge: ((scope: BudgetScope) => T) | null, { lineOf }: KeyLines) {
  if (judge === null) return null;
  return (scope: BudgetScope): T => {
    const id = lineOf(scope.key.id).at(-1);
    if (id === undefined) return judge(scope);
    const labels = [...scope.key.labels].filter(([name]) => !name.startsWith(CHILD_LABEL));
    return judge({ ...scope, key: { id, labels: new Map(labels) } });
  };
}
