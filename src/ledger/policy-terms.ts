import type { Budget, StoredBudget } from '../core/money/budget.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { LedgerBooks, OfferedTerms } from '../store/books.ts';
import { isUnmet } from '../store/store.ts';
import type { CountedBudget } from './drawn-fund.ts';

/** The figures of a policy that apply on all servers, from the newest policy. */
export type CountedTerms = Pick<PolicySnapshot, 'budgets' | 'usdPerCredit'> & Pick<OfferedTerms, 'rateLimits'>;

/** The terms of policies, as the books have accepted them for one ledger. */
export class PolicyTerms {
  readonly #books: Pick<LedgerBooks, 'accept' | 'state'>;
  /**
   * The budgets and rate limits of the policy that was accepted last, as JSON, with their rank; null before the first policy is accepted.
   */
  #last: { readonly text: string; readonly rank: number } | null = null;

  /** The rank of the terms that were accepted last; 0 before the first terms are accepted. */
  get rank(): number {
    return this.#last?.rank ?? 0;
  }

  constructor(books: Pick<LedgerBooks, 'accept' | 'state'>) {
    this.#books = books;
  }

  /**
   * Makes the books accept the terms of a policy. A policy with the same budgets and rate limits as the last one keeps its rank. A change
   * of API keys therefore does not make an older policy the newest.
   * @param at the moment for which the terms hold, ms since 1970
   * @throws StoreError by rejecting, or an Error of one sentence if the policy gives a Credit a different value
   */
  async accept({ budgets: all, usdPerCredit, rateLimits = [] }: CountedTerms, at: number) {
    this.#checkUnit(usdPerCredit);
    const budgets = all.filter(isOfPolicy).map(storedOf);
    const text = JSON.stringify([budgets, rateLimits]);
    const known = this.#last?.text === text ? this.#last.rank : null;
    try {
      const offered = { usdPerCredit, budgets, rateLimits, counted: all, rank: known };
      const { rank, generations } = await this.#books.accept(offered);
      this.#last = { text, rank };
      return all.map((budget, index): CountedBudget => ({ budget, generation: generations[index]!, rank, at }));
    } catch (cause) {
      if (!isUnmet(cause)) throw cause;
      const why = `Another server has started this ledger with a different value of a Credit, so usd_per_credit cannot be ${usdPerCredit}.`;
      throw new Error(why, { cause });
    }
  }

  #checkUnit(usdPerCredit: string): void {
    const { usdPerCredit: unit } = this.#books.state();
    if (unit === null || unit === usdPerCredit) return;
    throw new Error(
      `The ledger has entries with a Credit worth ${unit} USD, so usd_per_credit cannot change to ${usdPerCredit}.`,
    );
  }
}

/** True for a budget that the policy itself states; false for a budget of keys, users, teams or the organization. */
export const isOfPolicy = ({ limits }: Budget): boolean => limits === undefined;

const storedOf = ({ name, definition, window, timeZone, limit }: Budget): StoredBudget => ({
  name,
  definition,
  window,
  timeZone,
  limit,
});
