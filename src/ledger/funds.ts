import type { Budget, BudgetScope } from '../core/budget.ts';
import { holds, subjectIn } from '../core/condition.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Account } from './accounts.ts';
import { Fund, type FundTerms } from './rules/fund.ts';
import { type Window, windowAt } from './rules/window.ts';

/** The windows of one budget that are open now: one for each subject that has spent. */
export class Counter {
  readonly budget: Budget;
  #window: Window;
  #funds: Map<string, Fund>;
  /** The window before, for those who were admitted in it and reserve now; null while there was none. */
  #before: { readonly window: Window; readonly funds: Map<string, Fund> } | null = null;

  constructor(budget: Budget, window: Window, funds: Map<string, Fund>) {
    this.budget = budget;
    this.#window = window;
    this.#funds = funds;
  }

  get funds(): Iterable<Fund> {
    return this.#funds.values();
  }

  /** The window in force. Asked with a later time than its end, all subjects begin a new one. */
  windowAt(timeMs: number): Window {
    if (timeMs >= this.#window.ends) {
      this.#before = { window: this.#window, funds: this.#funds };
      this.#window = windowAt(this.budget.window, this.budget.timeZone, timeMs);
      this.#funds = new Map();
    }
    return this.#window;
  }

  /** The fund of a subject in the window of a time; null where that was over before these counts began. */
  fundAt(subject: string, timeMs: number): Fund | null {
    const isLate = timeMs < this.#window.starts;
    if (isLate && (this.#before === null || timeMs < this.#before.window.starts)) return null;
    const { window, funds } = isLate ? this.#before! : { window: this.#window, funds: this.#funds };
    let fund = funds.get(subject);
    if (!fund) {
      fund = openFund(this.budget, window, subject, 0);
      funds.set(subject, fund);
    }
    return fund;
  }

  /** The same counts under other terms, from the window of `timeMs` on: what is over is no longer drawn on. */
  under(budget: Budget, timeMs: number): Counter {
    this.windowAt(timeMs);
    for (const fund of this.#funds.values()) if (fund.change(termsOf(budget, fund.title.subject))) fund.rowId = 0;
    return new Counter(budget, this.#window, this.#funds);
  }
}

function termsOf({ limit, limits, onExhausted, alertAt }: Budget, subject: string): FundTerms {
  return { limit: limits?.get(subject) ?? limit, onExhausted, alertAt };
}

export function openFund(budget: Budget, { starts, ends }: Window, subject: string, spent: Microcredits): Fund {
  const { name, definition } = budget;
  return new Fund({ kind: 'budget', name, subject, definition, starts, ends }, termsOf(budget, subject), spent);
}

/** Whose share of a budget a request draws on; null when the budget does not hold for it. */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/** All funds: the windows of the budgets in force, and the balances of keys. */
export class Funds {
  readonly #balances = new Map<string, Fund>();
  #counters: readonly Counter[] = [];
  /** Changes whenever another set of funds may apply to an account. */
  #epoch = 0;

  get counters(): readonly Counter[] {
    return this.#counters;
  }
  get balances(): Iterable<Fund> {
    return this.#balances.values();
  }

  use(counters: readonly Counter[]): void {
    this.#counters = counters;
    this.#epoch++;
  }

  balanceOf(keyId: string): Fund | undefined {
    return this.#balances.get(keyId);
  }

  /** Adds to the balance of a key (or takes from it), which has one from its first grant on. */
  grant(keyId: string, amount: Microcredits, spent: Microcredits = 0): void {
    const terms = (limit: Microcredits): FundTerms => ({ limit, onExhausted: 'reject', alertAt: [] });
    const known = this.#balances.get(keyId);
    if (known) {
      known.change(terms(known.limit + amount));
      return;
    }
    const title = { kind: 'balance', name: keyId, subject: '', definition: '', starts: 0, ends: Infinity } as const;
    this.#balances.set(keyId, new Fund(title, terms(amount), spent));
    this.#epoch++;
  }

  /** What an account draws on at a time, ms since 1970. */
  of(account: Account, timeMs: number): readonly Fund[] {
    if (account.epoch === this.#epoch && timeMs >= account.from && timeMs < account.until) return account.funds;
    const funds: Fund[] = [];
    let from = 0;
    let until = Number.POSITIVE_INFINITY;
    for (const counter of this.#counters) {
      const { starts, ends } = counter.windowAt(timeMs);
      from = Math.max(from, starts);
      until = Math.min(until, ends);
      const subject = subjectOf(counter.budget, account.scope);
      const fund = subject === null ? null : counter.fundAt(subject, timeMs);
      if (fund) funds.push(fund);
    }
    const balance = this.#balances.get(account.keyId);
    if (balance) funds.push(balance);
    // Who is late, about the change of a window, is one of few.
    if (timeMs < from) return funds;
    account.funds = funds;
    account.fundIds = funds.length === 0 ? null : undefined;
    account.epoch = this.#epoch;
    account.from = from;
    account.until = until;
    return funds;
  }
}
