import type { LedgerState, StoredBudget } from '../../../../src/core/money/budget.ts';
import type { StatedLimit } from '../../../../src/core/policy/rate-limit.ts';
import type { AcceptedTerms, OfferedTerms } from '../../../../src/store/books.ts';
import { unmet } from '../store.ts';

/** The terms that books in memory have accepted from all callers. No count is ever given up. */
export class MemoryTerms {
  budgets: readonly StoredBudget[] = [];
  state: LedgerState = { usdPerCredit: null, budgets: [] };
  rateLimits: readonly StatedLimit[] = [];
  rank = 0;
  readonly #generations = new Map<string, number>();

  accept({ usdPerCredit, budgets, rateLimits = [], counted, rank: known }: OfferedTerms): AcceptedTerms {
    const before = this.state.usdPerCredit;
    if (before !== null && before !== usdPerCredit) unmet();
    const stated = [budgets, rateLimits];
    const isSame = this.rank > 0 && JSON.stringify(stated) === JSON.stringify([this.budgets, this.rateLimits]);
    const rank = known ?? (isSame ? this.rank : this.rank + 1);
    // A caller with an older policy changes nothing for others.
    if (rank >= this.rank) {
      this.rank = rank;
      this.budgets = budgets;
      this.rateLimits = rateLimits;
      this.state = { usdPerCredit, budgets: budgets.map(({ name }) => name) };
    }
    return { rank, generations: counted.map((one) => this.#generationOf(one)) };
  }

  #generationOf({ name, definition }: OfferedTerms['counted'][number]): number {
    const all = this.#generations;
    return all.getOrInsertComputed(JSON.stringify([name, definition]), () => all.size + 1);
  }
}
