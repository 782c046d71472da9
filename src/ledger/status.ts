import type { FundStanding } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/credits.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { BudgetWindows } from './funds.ts';
import { isOfPolicy } from './policy-terms.ts';
import { unusedFunds, unusedOfHolders } from './unused.ts';

export interface LedgerStatus {
  /** The sum that callers paid, over all entries, less refunds. */
  readonly charged: Microcredits;
  /** The sum that open holds may still charge. */
  readonly held: Microcredits;
  /** Holds that are open. */
  readonly open: number;
  /** The budgets in force and balances, those that nothing has drawn on last. */
  readonly funds: readonly FundStanding[];
}

/** The windows in force at a time, ms since 1970, that requests have drawn on. */
export function drawnWindows(
  books: Pick<LedgerBooks, 'windowsOf'>,
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
): readonly FundStanding[] {
  const budgets = budgetWindows.flatMap((windows) => {
    const { limits } = windows.budget;
    const all = books.windowsOf(windows.generation, windows.windowAt(timeMs).starts);
    // Those of holders that have the budget no more draw no holds.
    return limits ? all.filter(({ title }) => limits.has(title.subject)) : all;
  });
  return budgets.filter((fund) => fund.spent !== 0 || fund.held !== 0);
}

/** @param timeMs whose windows are shown, ms since 1970 */
export async function statusOf(
  books: LedgerBooks,
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
): Promise<LedgerStatus> {
  const charged = await books.charged();
  const drawnOn = drawnWindows(books, budgetWindows, timeMs);
  const { count, held } = books.open();
  const budgets = budgetWindows.map(({ budget }) => budget);
  const unused = [
    ...unusedOfHolders(budgets, drawnOn, timeMs),
    ...unusedFunds(budgets.filter(isOfPolicy), drawnOn, timeMs),
  ];
  return {
    ...{ charged, held, open: count },
    funds: [...drawnOn, ...books.balances(), ...unused],
  };
}
