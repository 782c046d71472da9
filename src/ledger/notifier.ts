import type { FundStanding } from '../core/accounting/fund.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { BudgetWindows } from './funds.ts';

const always = () => true;

/** Reports something about money to an operator. */
type Alarm = (message: string, details: Readonly<Record<string, string | number>>) => void;

export interface LedgerNotifierOptions {
  readonly books: Pick<LedgerBooks, 'standing' | 'windowsOf'>;
  /** Something about money that an operator must see. */
  readonly onAlarm: Alarm;
  /** A budget has reached a fraction of its limit. */
  readonly onAlert?: (fund: FundStanding, fraction: number) => void;
  /** Whether this server reports budgets for all that share the books; absent where it alone has them. */
  readonly leads?: () => boolean;
}

/** Reports to operators about money. A settlement runs where nothing may throw: a failed report must not cost the entry. */
export class LedgerNotifier {
  readonly #options: LedgerNotifierOptions;

  constructor(options: LedgerNotifierOptions) {
    this.#options = options;
  }

  alarm(...report: Parameters<Alarm>): void {
    try {
      this.#options.onAlarm(...report);
    } catch {}
  }

  /** Looks at the windows of a time that others draw on, where this server reports for all. */
  lookAtAll(budgets: readonly BudgetWindows[], timeMs: number): void {
    const { books, leads } = this.#options;
    if (!leads?.()) return;
    for (const windows of budgets) {
      const { limits } = windows.budget;
      const drawn = books.windowsOf(windows.generation, windows.windowAt(timeMs).starts);
      const own = drawn.filter(({ title }) => limits?.has(title.subject) ?? true);
      this.look(own.flatMap(({ title }) => windows.fundAt(title.subject, timeMs) ?? []));
    }
  }

  /** Reports budgets that have reached a fraction of their limits. */
  look(funds: readonly DrawnFund[]): void {
    const { books, onAlert, leads = always } = this.#options;
    if (!onAlert || !leads()) return;
    const standings = books.standing(funds);
    for (let i = 0; i < funds.length; i++) {
      const standing = standings[i]!;
      const fraction = funds[i]!.reached(standing.spent);
      if (fraction === null) continue;
      try {
        onAlert(standing, fraction);
      } catch {}
    }
  }
}
