import { budgetKey, type FundRef, type FundTitle } from '../core/accounting/fund.ts';
import type { Window } from '../core/accounting/window.ts';
import type { Budget, ExhaustedAction } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';

/** A fund with the terms that the policy gives to the fund. */
export interface DrawnFund extends FundRef {
  readonly onExhausted: ExhaustedAction;
  /**
   * @returns the highest fraction of the limit that `spent` has reached since the last call, or null if `spent` reached no further fraction
   */
  reached(spent: Microcredits): number | null;
}

/** True if every fund allows that an output is capped, so that a hold may be less than the worst case. */
export function mayCap(funds: readonly DrawnFund[]): boolean {
  for (const { onExhausted } of funds) if (onExhausted === 'reject') return false;
  return true;
}

/** A budget of a policy, with the generation that the books count it under. */
export interface CountedBudget {
  readonly budget: Budget;
  /** The generation of the budget. The ledger's books assign the generation. */
  readonly generation: number;
  /** The rank of the policy. */
  readonly rank: number;
  /** The moment for which the terms hold, ms since 1970. */
  readonly at: number;
}

/** The window of a budget for one subject. State: budget alerts. */
export class BudgetFund implements DrawnFund {
  readonly key: string;
  readonly title: FundTitle;
  readonly budget: number;
  readonly limit: Microcredits;
  readonly #budget: Budget;
  /** The highest fraction of the budget's limit that was reported; 0 for none. */
  #reported = 0;

  constructor({ budget, generation }: CountedBudget, { starts, ends }: Window, subject: string) {
    const { name, definition, window, limit, limits } = budget;
    this.key = budgetKey(generation, starts, subject);
    this.title = { kind: 'budget', name, subject, definition, window, starts, ends };
    this.budget = generation;
    this.limit = limits?.get(subject) ?? limit;
    this.#budget = budget;
  }

  get onExhausted(): ExhaustedAction {
    return this.#budget.onExhausted;
  }

  reached(spent: Microcredits): number | null {
    let fraction = this.#reported;
    for (const one of this.#budget.alertAt) if (one > fraction && spent >= one * this.limit) fraction = one;
    if (fraction === this.#reported) return null;
    this.#reported = fraction;
    return fraction;
  }

  /**
   * Returns the same fund with the terms of a new policy. Fractions of the limit that were reported are not reported again. If a lower
   * limit makes the fund reach a fraction, the next charge reports it.
   */
  under(counted: CountedBudget): BudgetFund {
    const fund = new BudgetFund(counted, this.title, this.title.subject);
    fund.#reported = this.#reported;
    return fund;
  }
}

/** The balance of a holder, as operations name it. */
export function balanceFund(holder: string): DrawnFund {
  const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
  return { key: `balance/${holder}`, title, budget: 0, limit: 0, onExhausted: 'cap', reached: () => null };
}
