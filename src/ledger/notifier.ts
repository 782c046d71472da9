import type { FundStanding } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { BudgetWindows } from './funds.ts';

const always = () => true;

/** Reports a problem with money to an operator. */
type Alarm = (message: string, details: Readonly<Record<string, string | number>>) => void;

export interface LedgerNotifierOptions {
  readonly books: Pick<LedgerBooks, 'standing' | 'windowsOf'>;
  /** A function that is called with a problem that an operator must see. */
  readonly onAlarm: Alarm;
  /** A function that is called when a budget has reached a fraction of its limit. */
  readonly onAlert?: (fund: FundStanding, fraction: number) => void;
  /** True if this server reports budgets for all servers that share the books. Absent if no other server shares the books. */
  readonly leads?: () => boolean;
}

/** Reports problems with money to operators. The notifier never throws, because a failed report must not prevent a settlement. */
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

  /** Checks the windows that any server has drawn on, if this server reports for all servers. */
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

  /**
   * Reports a budget that refuses a request as if all of it were spent. Each process reports its own refusals, because no other process
   * knows them.
   */
  lookAtRefusing(fund: DrawnFund): void {
    const [standing] = this.#options.books.standing([fund]);
    if (standing) this.#report(fund, standing, Math.max(standing.spent, standing.limit));
  }

  /** Reports budgets that have reached a fraction of their limit. */
  look(funds: readonly DrawnFund[]): void {
    const { books, onAlert, leads = always } = this.#options;
    if (!onAlert || !leads()) return;
    const standings = books.standing(funds);
    for (let i = 0; i < funds.length; i++) this.#report(funds[i]!, standings[i]!, standings[i]!.spent);
  }

  #report(fund: DrawnFund, standing: FundStanding, spent: Microcredits): void {
    const fraction = fund.reached(spent);
    if (fraction === null) return;
    try {
      this.#options.onAlert?.(standing, fraction);
    } catch {}
  }
}
