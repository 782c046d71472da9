import { type Window, windowAt } from '../accounting/window.ts';
import type { Budget } from '../core/budget.ts';
import type { BudgetUse, KeyBudget, KeyBudgets } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';

/** Begins the definitions of budgets that keys share. Those of the policy begin with a condition. */
const OF_KEYS = 'keys';

/** Whether a definition is that of a budget of keys, which no policy names. */
export const isOfKeys = (definition: string): boolean => definition.startsWith(JSON.stringify([OF_KEYS]).slice(0, -1));

/** Keys state no place in a file. */
const NO_PLACE = { file: '', line: 0, column: 0 };

/**
 * Turns the keys' own budgets into budgets of the ledger. Keys with the same kind of window share one budget, with a limit for
 * each key, so that thousands of keys cost a request no more than one. If a key states the same window twice, the lower
 * limit counts.
 */
export function keyBudgets(keys: readonly KeyBudgets[]): Budget[] {
  const alike = new Map<string, { readonly from: KeyBudget; readonly limits: Map<string, Microcredits> }>();
  for (const { keyId, budgets } of keys) {
    for (const budget of budgets) {
      const name = nameOf(budget);
      const { limits } = alike.getOrInsertComputed(name, () => ({ from: budget, limits: new Map() }));
      limits.set(keyId, Math.min(budget.limit, limits.get(keyId) ?? Number.POSITIVE_INFINITY));
    }
  }
  return [...alike].map(([name, { from, limits }]) => ({
    name,
    place: NO_PLACE,
    match: ({ key }) => limits.has(key.id),
    each: ({ key }) => key.id,
    window: from.window,
    timeZone: from.timeZone,
    // Without the keys: servers that know of different ones have the same budget.
    definition: JSON.stringify([OF_KEYS, from.window, from.timeZone]),
    limit: 0,
    limits,
    onExhausted: from.onExhausted,
    alertAt: [],
  }));
}

/** The name of a shared budget, such as `key-month`. It states the zone unless UTC, and the action unless `reject`. */
function nameOf({ window, timeZone, onExhausted }: KeyBudget): string {
  const zone = timeZone === 'UTC' ? '' : `@${timeZone}`;
  return `key-${window}${zone}${onExhausted === 'reject' ? '' : `:${onExhausted}`}`;
}

/**
 * Returns how much of each budget of a key is spent in the windows of `now`.
 *
 * @param spentIn microcredits that were charged in a window
 * @param now milliseconds since 1970
 */
export function keyBudgetUses(
  spentIn: (window: Window) => Promise<Microcredits>,
  budgets: readonly KeyBudget[],
  now: number,
): Promise<BudgetUse[]> {
  return Promise.all(
    budgets.map(async (budget) => {
      const window = windowAt(budget.window, budget.timeZone, now);
      return { budget, spent: await spentIn(window), renewsAt: window.ends };
    }),
  );
}
