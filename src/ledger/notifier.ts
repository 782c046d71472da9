import type { FundStanding } from '../accounting/fund.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { DrawnFund } from './drawn-fund.ts';

/** Reports something about money to an operator. */
type Alarm = (message: string, details: Readonly<Record<string, string | number>>) => void;

export interface LedgerNotifierOptions {
  readonly books: Pick<LedgerBooks, 'standing'>;
  /** Something about money that an operator must see. */
  readonly onAlarm: Alarm;
  /** A budget has reached a fraction of its limit. */
  readonly onAlert?: (fund: FundStanding, fraction: number) => void;
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

  /** Reports budgets that have reached a fraction of their limits. */
  look(funds: readonly DrawnFund[]): void {
    const { books, onAlert } = this.#options;
    if (!onAlert) return;
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
