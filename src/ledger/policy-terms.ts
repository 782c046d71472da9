import type { Budget, StoredBudget } from '../core/budget.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { LedgerBooks, OfferedTerms } from '../store/books.ts';
import { isUnmet } from '../store/store.ts';
import type { CountedBudget } from './drawn-fund.ts';

/** Figures that hold at all servers: those of the newest policy. */
export type CountedTerms = Pick<PolicySnapshot, 'budgets' | 'usdPerCredit'> & Pick<OfferedTerms, 'rateLimits'>;

/** The terms of policies, as the books have accepted them for one ledger. */
export class PolicyTerms {
  readonly #books: Pick<LedgerBooks, 'accept' | 'state'>;
  /** The budgets and rate limits of the policy that was accepted last, as JSON, and their rank; null before the first. */
  #last: { readonly text: string; readonly rank: number } | null = null;

  /** The rank of what was accepted last; 0 before the first. */
  get rank(): number {
    return this.#last?.rank ?? 0;
  }

  constructor(books: Pick<LedgerBooks, 'accept' | 'state'>) {
    this.#books = books;
  }

  /**
   * Has the books accept a policy. One with the budgets and rate limits of the last keeps its rank, so that a change of keys makes no older
   * policy the newest. Rejects with StoreError, or with an Error of one clear sentence if Credits have another worth.
   */
  async accept({ budgets: all, usdPerCredit, rateLimits = [] }: CountedTerms) {
    this.#checkUnit(usdPerCredit);
    const budgets = all.filter(isOfPolicy).map(storedOf);
    const text = JSON.stringify([budgets, rateLimits]);
    const known = this.#last?.text === text ? this.#last.rank : null;
    try {
      const offered = { usdPerCredit, budgets, rateLimits, counted: all, rank: known };
      const { rank, generations } = await this.#books.accept(offered);
      this.#last = { text, rank };
      return all.map((budget, at): CountedBudget => ({ budget, generation: generations[at]!, rank }));
    } catch (cause) {
      if (!isUnmet(cause)) throw cause;
      const why = `Another server has begun this ledger in Credits of another worth, so usd_per_credit cannot be ${usdPerCredit}.`;
      throw new Error(why, { cause });
    }
  }

  #checkUnit(usdPerCredit: string): void {
    const { usdPerCredit: unit } = this.#books.state();
    if (unit === null || unit === usdPerCredit) return;
    throw new Error(
      `The ledger has entries in Credits of ${unit} USD, so usd_per_credit cannot change to ${usdPerCredit}.`,
    );
  }
}

/** Whether a budget is the policy's own, and not one of keys. */
export const isOfPolicy = ({ limits }: Budget): boolean => limits === undefined;

const storedOf = ({ name, definition, window, timeZone, limit }: Budget): StoredBudget => ({
  ...{ name, definition, window, timeZone, limit },
});
