import { Fund, type FundRef } from '../../../../src/accounting/fund.ts';

/** The funds and balances of books in memory. */
export class MemoryFunds {
  readonly #budgets = new Map<string, Fund>();
  readonly #balances = new Map<string, Fund>();
  /** Holders that something was granted to or paid in by. */
  readonly #holders = new Set<string>();

  get balances(): Fund[] {
    return [...this.#holders].map((holder) => this.#balances.get(holder)!);
  }

  /** The balance of a holder that has one. */
  held(holder: string): Fund | null {
    return this.#holders.has(holder) ? (this.#balances.get(holder) ?? null) : null;
  }

  find({ key, title }: FundRef): Fund | undefined {
    return title.kind === 'balance' ? this.#balances.get(title.name) : this.#budgets.get(key);
  }

  named(ref: FundRef): Fund {
    if (ref.title.kind === 'balance') return this.#balanceOf(ref.title.name);
    let fund = this.#budgets.get(ref.key);
    if (!fund) {
      fund = new Fund(ref.title, ref.limit, ref.opening);
      this.#budgets.set(ref.key, fund);
    }
    return fund;
  }

  credit(holder: string, amount: number): Fund {
    const fund = this.#balanceOf(holder);
    fund.limit += amount;
    this.#holders.add(holder);
    return fund;
  }

  #balanceOf(holder: string): Fund {
    let fund = this.#balances.get(holder);
    if (!fund) {
      const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
      fund = new Fund(title, 0, 0);
      this.#balances.set(holder, fund);
    }
    return fund;
  }
}
