import type { FundStanding } from '../core/accounting/fund.ts';
import { windowOf } from '../core/accounting/window.ts';
import type { Budget, StoredBudget } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';

/**
 * Returns a fund without a subject for each budget that no request has drawn on in the current window: the future subjects of the budget
 * are not known yet.
 * @param drawnOn the funds of that time that requests have drawn on
 */
export function unusedFunds(
  budgets: readonly StoredBudget[],
  drawnOn: readonly Pick<FundStanding, 'title'>[],
  timeMs: number,
): FundStanding[] {
  const used = new Set(drawnOn.map(({ title: { name, definition } }) => JSON.stringify([name, definition])));
  return budgets
    .filter(({ name, definition }) => !used.has(JSON.stringify([name, definition])))
    .map((budget) => unused(budget, '', budget.limit, timeMs));
}

/** Returns a fund for each holder of a level that has not drawn on its budget in the window of a time. */
export function unusedOfHolders(
  budgets: readonly Budget[],
  drawnOn: readonly Pick<FundStanding, 'title'>[],
  timeMs: number,
): FundStanding[] {
  const used = Map.groupBy(drawnOn, ({ title }) => title.definition);
  return budgets.flatMap((budget) => {
    if (!budget.limits) return [];
    const own = used.get(budget.definition)?.filter(({ title }) => title.name === budget.name) ?? [];
    const subjects = new Set(own.map(({ title }) => title.subject));
    return [...budget.limits].flatMap(([holder, limit]) =>
      subjects.has(holder) ? [] : unused(budget, holder, limit, timeMs),
    );
  });
}

const unused = (
  { name, definition, window, timeZone }: StoredBudget,
  subject: string,
  limit: Microcredits,
  timeMs: number,
): FundStanding => ({
  title: { kind: 'budget', name, subject, definition, window, ...windowOf({ window, timeZone }, timeMs) },
  limit,
  spent: 0,
  held: 0,
  free: limit,
  unspent: limit,
  ageMs: 0,
});
