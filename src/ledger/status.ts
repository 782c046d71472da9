import type { FundStanding } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { BudgetWindows } from './funds.ts';
import { isOfPolicy } from './policy-terms.ts';
import { unusedFunds, unusedOfHolders } from './unused.ts';

export interface LedgerStatus {
  /** The sum that callers paid: the charges of all entries minus refunds. */
  readonly charged: Microcredits;
  /** The amount that open holds may still charge. */
  readonly held: Microcredits;
  /** The number of open holds. */
  readonly open: number;
  /** The active budgets and the balances. Funds that nothing has drawn on come last. */
  readonly funds: readonly FundStanding[];
}

/**
 * @param timeMs ms since 1970
 * @returns the active windows at that time that requests have drawn on
 */
export function drawnWindows(
  books: Pick<LedgerBooks, 'windowsOf'>,
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
): readonly FundStanding[] {
  const budgets = budgetWindows.flatMap((windows) => {
    const { limits } = windows.budget;
    const all = books.windowsOf(windows.generation, windows.windowAt(timeMs).starts);
    // Windows of holders that no longer have the budget are left out, because requests of these holders do not draw on the budget.
    return limits ? all.filter(({ title }) => limits.has(title.subject)) : all;
  });
  return budgets.filter((fund) => fund.spent !== 0 || fund.held !== 0);
}

/** @param timeMs the time whose windows are shown, ms since 1970 */
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
    charged,
    held,
    open: count,
    funds: [...drawnOn, ...books.balances(), ...unused],
  };
}
