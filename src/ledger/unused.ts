import type { FundStanding } from '../accounting/fund.ts';
import { windowAt } from '../accounting/window.ts';
import type { StoredBudget } from '../core/budget.ts';

/**
 * Returns a fund for each budget that nothing has drawn on in the window of a time, of no subject: nobody knows those to come.
 * @param drawnOn the funds of that time that something has drawn on
 */
export function unusedFunds(
  budgets: readonly StoredBudget[],
  drawnOn: readonly Pick<FundStanding, 'title'>[],
  timeMs: number,
): FundStanding[] {
  const used = new Set(drawnOn.map(({ title: { name, definition } }) => JSON.stringify([name, definition])));
  return budgets
    .filter(({ name, definition }) => !used.has(JSON.stringify([name, definition])))
    .map(({ name, definition, window, timeZone, limit }) => ({
      title: { kind: 'budget', name, subject: '', definition, window, ...windowAt(window, timeZone, timeMs) },
      ...{ limit, spent: 0, held: 0, free: limit, unspent: limit, ageMs: 0 },
    }));
}
