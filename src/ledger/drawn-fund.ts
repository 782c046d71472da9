import type { Microcredits } from '../core/credits.ts';
import type { FundRef, FundTitle } from './rules/fund.ts';

/** A fund with its terms by the policy. */
export interface DrawnFund extends FundRef {
  /** Whether only models are chosen from whose worst case still fits. */
  readonly downgrades: boolean;
  /** The greatest fraction of the limit that `spent` has reached since the last call; null when none was. */
  reached(spent: Microcredits): number | null;
}

/** The terms of a budget for the draws on its window. */
export interface FundTerms {
  /** Microcredits. */
  readonly limit: Microcredits;
  readonly onExhausted: 'reject' | 'downgrade';
  /** Fractions of the limit, ascending. */
  readonly alertAt: readonly number[];
}

/** The window of a budget for one subject. */
export class BudgetFund implements DrawnFund {
  readonly key: string;
  readonly title: FundTitle;
  readonly opening: Microcredits;
  readonly #terms: FundTerms;
  /** The greatest fraction that was reported; 0 for none. */
  #reported = 0;

  constructor(key: string, title: FundTitle, terms: FundTerms, opening: Microcredits) {
    this.key = key;
    this.title = title;
    this.opening = opening;
    this.#terms = terms;
    // Fractions that were reached before are not reported.
    this.reached(opening);
  }

  get limit(): Microcredits {
    return this.#terms.limit;
  }
  get downgrades(): boolean {
    return this.#terms.onExhausted === 'downgrade';
  }

  reached(spent: Microcredits): number | null {
    const { alertAt, limit } = this.#terms;
    if (alertAt.length === 0) return null;
    const fraction = alertAt.findLast((one) => spent >= one * limit) ?? 0;
    if (fraction <= this.#reported) return null;
    this.#reported = fraction;
    return fraction;
  }

  /**
   * Returns the same fund under other terms. Reported fractions are not reported again; a fraction reached by a lower limit
   * is reported with the next charge.
   */
  under(terms: FundTerms): BudgetFund {
    const fund = new BudgetFund(this.key, this.title, terms, this.opening);
    fund.#reported = this.#reported;
    return fund;
  }
}

/** The balance of a key or a wallet, as operations name it. */
export function balanceFund(holder: string): DrawnFund {
  const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
  return { key: `balance/${holder}`, title, limit: 0, opening: 0, downgrades: false, reached: () => null };
}
