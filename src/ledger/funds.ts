import type { Budget, BudgetScope } from '../core/budget.ts';
import { holds, subjectIn } from '../core/condition.ts';
import type { Microcredits } from '../core/credits.ts';
import { isWallet } from '../core/wallet.ts';
import type { Account } from './accounts.ts';
import { Fund, type FundTerms } from './rules/fund.ts';
import { type Window, windowAt } from './rules/window.ts';

/** What subjects have spent in one window. */
interface Counts {
  readonly window: Window;
  readonly funds: Map<string, Fund>;
}

/** The windows of one budget that are open now: one for each subject that has spent. */
export class Counter {
  readonly budget: Budget;
  #present: Counts;
  /** The window before, for those who were admitted in it and reserve now; null while there was none. */
  #before: Counts | null = null;

  constructor(budget: Budget, window: Window, funds: Map<string, Fund>) {
    this.budget = budget;
    this.#present = { window, funds };
  }

  get funds(): Iterable<Fund> {
    return this.#present.funds.values();
  }

  /** The window in force. Asked with a later time than its end, all subjects begin a new one. */
  windowAt(timeMs: number): Window {
    if (timeMs >= this.#present.window.ends) {
      this.#before = this.#present;
      this.#present = { window: windowAt(this.budget.window, this.budget.timeZone, timeMs), funds: new Map() };
    }
    return this.#present.window;
  }

  /** The fund of a subject in the window of a time; null where that was over before these counts began. */
  fundAt(subject: string, timeMs: number): Fund | null {
    const counts = this.#countsAt(timeMs);
    if (counts === null) return null;
    let fund = counts.funds.get(subject);
    if (!fund) {
      fund = openFund(this.budget, counts.window, subject, 0);
      counts.funds.set(subject, fund);
    }
    return fund;
  }

  /** The same, and nothing is kept of it for a subject that has not spent yet. */
  lookAt(subject: string, timeMs: number): Fund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? openFund(this.budget, counts.window, subject, 0));
  }

  /** The same counts under other terms, from the window of `timeMs` on: what is over is no longer drawn on. */
  under(budget: Budget, timeMs: number): Counter {
    this.windowAt(timeMs);
    const { window, funds } = this.#present;
    for (const fund of funds.values()) if (fund.change(termsOf(budget, fund.title.subject))) fund.rowId = 0;
    return new Counter(budget, window, funds);
  }

  #countsAt(timeMs: number): Counts | null {
    if (timeMs >= this.#present.window.starts) return this.#present;
    return this.#before !== null && timeMs >= this.#before.window.starts ? this.#before : null;
  }
}

function termsOf({ limit, limits, onExhausted, alertAt }: Budget, subject: string): FundTerms {
  return { limit: limits?.get(subject) ?? limit, onExhausted, alertAt };
}

export function openFund(budget: Budget, { starts, ends }: Window, subject: string, spent: Microcredits): Fund {
  const { name, definition } = budget;
  return new Fund({ kind: 'budget', name, subject, definition, starts, ends }, termsOf(budget, subject), spent);
}

function openBalance(holder: string, granted: Microcredits, spent: Microcredits): Fund {
  const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: Infinity } as const;
  return new Fund(title, balanceTerms(granted), spent);
}

const balanceTerms = (limit: Microcredits): FundTerms => ({ limit, onExhausted: 'reject', alertAt: [] });

/** Whose share of a budget a request draws on; null when the budget does not hold for it. */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/** All funds: the windows of the budgets in force, and the balances of keys and wallets. */
export class Funds {
  readonly #balances = new Map<string, Fund>();
  /** Those of wallets that nothing was ever paid into: there only because somebody asked, and not kept. */
  readonly #blank = new Set<Fund>();
  #counters: readonly Counter[] = [];
  /** Changes whenever another set of funds may apply to an account. */
  #epoch = 0;

  get counters(): readonly Counter[] {
    return this.#counters;
  }
  /** Those that something was ever granted to or paid into. */
  get balances(): Fund[] {
    const all = [...this.#balances.values()];
    return this.#blank.size === 0 ? all : all.filter((fund) => !this.#blank.has(fund));
  }

  /** How many of those there are, and how many of them have spent all. */
  countBalances(): { readonly all: number; readonly exhausted: number } {
    let exhausted = 0;
    for (const fund of this.#balances.values()) if (fund.unspent <= 0 && !this.#blank.has(fund)) exhausted++;
    return { all: this.#balances.size - this.#blank.size, exhausted };
  }

  use(counters: readonly Counter[]): void {
    this.#counters = counters;
    this.#epoch++;
  }

  balanceOf(holder: string): Fund | undefined {
    const fund = this.#balances.get(holder);
    return fund && this.#blank.has(fund) ? undefined : fund;
  }

  /** Adds to the balance of a key or a wallet (or takes from it). A key has one from its first grant on. Returns it. */
  grant(holder: string, amount: Microcredits, spent: Microcredits = 0): Fund {
    const known = this.#balances.get(holder);
    if (known) {
      known.change(balanceTerms(known.limit + amount));
      this.#blank.delete(known);
      return known;
    }
    const fund = openBalance(holder, amount, spent);
    this.#balances.set(holder, fund);
    this.#epoch++;
    return fund;
  }

  /** Forgets balances of wallets that never paid, but for those in use. */
  forgetBlanks(used: ReadonlySet<Fund>): void {
    for (const fund of this.#blank) {
      if (used.has(fund) || fund.rowId !== 0) continue;
      this.#blank.delete(fund);
      this.#balances.delete(fund.title.name);
    }
  }

  /** The windows that an account would draw on at a time. Leaves nothing behind: whoever asks may be anybody. */
  windowsOf({ scope }: Account, timeMs: number): Fund[] {
    return this.#counters.flatMap((counter) => {
      counter.windowAt(timeMs);
      const subject = subjectOf(counter.budget, scope);
      const fund = subject === null ? null : counter.lookAt(subject, timeMs);
      return fund ? [fund] : [];
    });
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
    const balance = this.#balanceFor(account.holder);
    if (balance) funds.push(balance);
    // Who is late, about the change of a window, is one of few; and a balance that is not kept must not be remembered.
    if (timeMs < from || (balance && this.#blank.has(balance))) return funds;
    account.funds = funds;
    account.fundIds = funds.length === 0 ? null : undefined;
    account.epoch = this.#epoch;
    account.from = from;
    account.until = until;
    return funds;
  }

  /** A wallet has a balance from the first: whoever has none is post-paid. */
  #balanceFor(holder: string): Fund | undefined {
    const known = this.#balances.get(holder);
    if (known || !isWallet(holder)) return known;
    const blank = openBalance(holder, 0, 0);
    this.#balances.set(holder, blank);
    this.#blank.add(blank);
    return blank;
  }
}
