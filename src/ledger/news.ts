import type { DrawnFund } from './drawn-fund.ts';
import type { Alarm, LedgerOptions } from './ledger.ts';

/** Reports to operators about money. A settlement runs where nothing may throw: a failed report must not cost the entry. */
export class News {
  readonly #options: Pick<LedgerOptions, 'books' | 'onAlarm' | 'onAlert'>;

  constructor(options: Pick<LedgerOptions, 'books' | 'onAlarm' | 'onAlert'>) {
    this.#options = options;
  }

  alarm(...report: Parameters<Alarm>): void {
    try {
      this.#options.onAlarm(...report);
    } catch {}
  }

  /** Looks whether budgets have reached a fraction of their limits. */
  look(funds: readonly DrawnFund[]): void {
    const { books, onAlert } = this.#options;
    if (!onAlert || funds.length === 0) return;
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
