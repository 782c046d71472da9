import { setImmediate } from 'node:timers/promises';
import type { FundTitle } from '../core/accounting/fund.ts';
import type { Budget } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { KeyLines } from '../core/people/holder.ts';
import type { LedgerBooks } from '../store/books.ts';
import { scopesOfEntries } from './accounts.ts';
import { keysOf } from './count.ts';
import { recentWindow } from './forecast.ts';
import { subjectsOf } from './funds.ts';

/** How old the sums may be before they are read again, ms. Reading them costs a query over the charges of a day. */
const STALE_MS = 60_000;
/** How many charges are matched in one turn of the event loop. */
const SLICE = 500;

type FundId = Pick<FundTitle, 'name' | 'definition' | 'subject'>;
/** Names a fund without its window. */
const idOf = ({ name, definition, subject }: FundId): string => JSON.stringify([name, definition, subject]);

interface ReadEntries {
  readonly books: Pick<LedgerBooks, 'usage'>;
  readonly lines: Pick<KeyLines, 'linesOf'>;
}

/**
 * The charges of the last 24 hours by fund, from which forecasts see that spending has risen. They are read only if a caller needs them.
 * State: recent spend.
 */
export class RecentSpend {
  readonly #entries: ReadEntries;
  readonly #budgets: () => readonly Budget[];
  #sums: ReadonlyMap<string, Microcredits> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  /** @param budgets returns the active budgets */
  constructor(entries: ReadEntries, budgets: () => readonly Budget[]) {
    this.#entries = entries;
    this.#budgets = budgets;
  }

  /** Microcredits that a fund was charged; null if the charges are not read yet. */
  of(title: FundId): Microcredits | null {
    return this.#sums && (this.#sums.get(idOf(title)) ?? 0);
  }

  /**
   * Reads the charges again if the last reading is old. Several callers share one reading.
   * @param now ms since 1970
   * @throws StoreError by rejecting
   */
  async refresh(now: number): Promise<void> {
    if (now < this.#readAt + STALE_MS) return;
    this.#reading ??= this.#read(now).finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  async #read(now: number): Promise<void> {
    const budgets = this.#budgets().filter(({ window }) => window !== 'total');
    const sums = new Map<string, Microcredits>();
    if (budgets.length > 0) {
      const period = { from: recentWindow(now).starts, to: Number.MAX_SAFE_INTEGER };
      const charges = await this.#entries.books.usage({ keyId: null, ...period });
      const lineOf = await this.#entries.lines.linesOf(keysOf(charges));
      for (const [at, { dimensions, microcredits }] of charges.entries()) {
        const scopes = scopesOfEntries(dimensions, lineOf);
        for (const budget of budgets) {
          for (const subject of subjectsOf(budget, scopes)) {
            const id = idOf({ ...budget, subject });
            sums.set(id, (sums.get(id) ?? 0) + microcredits);
          }
        }
        if (at % SLICE === SLICE - 1) await setImmediate();
      }
    }
    this.#sums = sums;
    this.#readAt = now;
  }
}
