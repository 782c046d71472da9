import { Fund, type FundRef, type FundTitle, limitFor } from '../../../../src/core/accounting/fund.ts';
import type { CountOp, CountPosition, EnforcedBudget, EnforceOp } from '../../../../src/store/books.ts';
import type { Cursor } from '../../../../src/store/cursor.ts';

/** A fund with the generation number of its budget; 0 for a balance. */
export class MemoryFund extends Fund {
  readonly budget: number;

  constructor(title: FundTitle, limit: number, budget: number) {
    super(title, limit, 0);
    this.budget = budget;
  }
}

/** The funds and balances of books in memory. */
export class MemoryFunds {
  readonly #budgets = new Map<string, MemoryFund>();
  readonly #balances = new Map<string, MemoryFund>();
  /** Holders that were granted something or have paid in. */
  readonly #holders = new Set<string>();
  /** The budgets of the newest policy, by generation number. */
  readonly #enforced = new Map<number, EnforcedBudget>();
  /** How far budgets are counted, by generation number. */
  readonly #counted = new Map<number, Cursor>();
  /** The subjects with separate limits that budgets count, by generation number. */
  readonly #subjects = new Map<number, Set<string>>();

  get balances(): Fund[] {
    return [...this.#holders].map((holder) => this.#balances.get(holder)!);
  }

  /** Returns the balance of a holder; null for a holder without one. */
  held(holder: string): Fund | null {
    return this.#holders.has(holder) ? (this.#balances.get(holder) ?? null) : null;
  }

  find({ key, title }: FundRef): MemoryFund | undefined {
    return title.kind === 'balance' ? this.#balances.get(title.name) : this.#budgets.get(key);
  }

  look(ref: FundRef): Fund {
    return this.find(ref) ?? this.#newFund(ref);
  }

  windowsOf(budget: number, starts: number): Fund[] {
    return [...this.#budgets.values()].filter((fund) => fund.budget === budget && fund.title.starts === starts);
  }

  named(ref: FundRef): MemoryFund {
    if (ref.title.kind === 'balance') return this.#balanceOf(ref.title.name);
    return this.#budgets.getOrInsertComputed(ref.key, () => this.#newFund(ref));
  }

  credit(holder: string, amount: number): Fund {
    const fund = this.#balanceOf(holder);
    fund.limit += amount;
    this.#holders.add(holder);
    return fund;
  }

  countedTo(budget: number): CountPosition | null {
    const through = this.#counted.get(budget);
    return through === undefined ? null : { through, subjects: this.#subjects.get(budget)?.size ?? 0 };
  }

  countedOf(budget: number, subjects: readonly string[]): ReadonlySet<string> {
    return new Set(subjects.filter((subject) => this.#subjects.get(budget)?.has(subject)));
  }

  /**
   * @param drawnAfter returns the charges after a position that drew on a fund
   * @returns whether the budget was counted up to exactly the position where the operation begins
   */
  count({ budget, from, to, sums, opening }: CountOp, drawnAfter: (fund: MemoryFund, at: Cursor) => number): boolean {
    const is = this.countedTo(budget);
    if (is?.through !== from?.through || is?.subjects !== from?.subjects) return false;
    this.#counted.set(budget, to);
    const subjects = this.#subjects.getOrInsertComputed(budget, () => new Set());
    for (const subject of opening?.subjects ?? []) subjects.add(subject);
    for (const { fund, amount } of sums) this.named(fund).spent += amount;
    for (const { fund: ref, amount } of opening?.sums ?? []) {
      const fund = this.named(ref);
      fund.spent = amount + drawnAfter(fund, to);
    }
    return true;
  }

  /** Only the newest policy sets the limits. The limits of other subjects stay: another server may know them. */
  enforce({ budgets }: EnforceOp): void {
    for (const one of budgets) {
      const known = this.#enforced.get(one.budget);
      if (known && (known.rank > one.rank || (known.rank === one.rank && known.at > one.at))) continue;
      const limits = one.limits && new Map([...(known?.limits ?? []), ...one.limits]);
      this.#enforced.set(one.budget, { ...one, ...(limits && { limits }) });
    }
    for (const fund of this.#budgets.values()) {
      fund.limit = limitFor(this.#enforced.get(fund.budget), fund.title, fund.limit);
    }
  }

  #newFund({ title, limit, budget }: FundRef): MemoryFund {
    return new MemoryFund(title, limitFor(this.#enforced.get(budget), title, limit), budget);
  }

  #balanceOf(holder: string): MemoryFund {
    return this.#balances.getOrInsertComputed(holder, () => {
      const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
      return new MemoryFund(title, 0, 0);
    });
  }
}
