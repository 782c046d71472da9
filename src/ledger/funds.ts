import { type Window, windowAt } from '../accounting/window.ts';
import type { Budget, BudgetScope } from '../core/budget.ts';
import { holds, subjectIn } from '../core/condition.ts';
import type { Microcredits } from '../core/credits.ts';
import { isAddress } from '../core/holder-address.ts';
import type { Account } from './accounts.ts';
import { BudgetFund, balanceFund, type DrawnFund } from './drawn-fund.ts';

/** The funds of subjects in one window. */
interface Counts {
  readonly window: Window;
  readonly funds: Map<string, BudgetFund>;
}

let lastId = 0;

/** The windows of one budget that are open now: one for each subject that has spent. */
export class BudgetWindows {
  readonly budget: Budget;
  /** The funds that have another limit than before. */
  readonly changed: BudgetFund[] = [];
  readonly #id: number;
  #present: Counts;
  /**
   * The window before, for requests that were admitted in it; null while there was none. One is enough, because a deadline is a
   * day at most: hardly a request outlives the next window.
   */
  #before: Counts | null = null;

  /**
   * @param spent microcredits that subjects have spent in the window
   * @param id the ID of windows whose funds continue under other terms; a new one by default
   */
  constructor(budget: Budget, window: Window, spent: ReadonlyMap<string, Microcredits>, id = ++lastId) {
    this.budget = budget;
    this.#id = id;
    this.#present = { window, funds: new Map() };
    for (const [subject, opening] of spent) this.#open(this.#present, subject, opening);
  }

  get funds(): Iterable<BudgetFund> {
    return this.#present.funds.values();
  }

  /** Returns the window in force. A time past its end begins a new window for all subjects. */
  windowAt(timeMs: number): Window {
    if (timeMs >= this.#present.window.ends) {
      this.#before = this.#present;
      this.#present = { window: windowAt(this.budget.window, this.budget.timeZone, timeMs), funds: new Map() };
    }
    return this.#present.window;
  }

  /** Returns the fund of a subject in the window of a time; null where the kept windows do not reach back to it. */
  fundAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? this.#open(counts, subject, 0));
  }

  /** As `fundAt`, but keeps nothing for a subject that has not spent yet. */
  lookAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? new BudgetFund(this.#id, this.budget, counts.window, subject, 0));
  }

  /** Returns the same windows under other terms, from the window of `timeMs` on. Earlier windows are dropped. */
  under(budget: Budget, timeMs: number): BudgetWindows {
    const next = new BudgetWindows(budget, this.windowAt(timeMs), new Map(), this.#id);
    for (const [subject, before] of this.#present.funds) {
      const fund = before.under(budget);
      next.#present.funds.set(subject, fund);
      if (fund.limit !== before.limit) next.changed.push(fund);
    }
    return next;
  }

  #open({ window, funds }: Counts, subject: string, opening: Microcredits): BudgetFund {
    const fund = new BudgetFund(this.#id, this.budget, window, subject, opening);
    funds.set(subject, fund);
    return fund;
  }

  #countsAt(timeMs: number): Counts | null {
    if (timeMs >= this.#present.window.starts) return this.#present;
    return this.#before !== null && timeMs >= this.#before.window.starts ? this.#before : null;
  }
}

/** Returns the subject whose share of a budget a request draws on; null when the budget does not apply. */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/** Finds the funds that an account draws on: the windows of the budgets in force, and its balance. State: budget windows. */
export class Funds {
  readonly #hasBalance: (holder: string) => boolean;
  #budgetWindows: readonly BudgetWindows[] = [];
  /** Changes whenever another set of funds may apply to an account. */
  #epoch = 0;

  /** @param hasBalance whether something was ever granted to a holder or paid in by it */
  constructor(hasBalance: (holder: string) => boolean) {
    this.#hasBalance = hasBalance;
  }

  get budgetWindows(): readonly BudgetWindows[] {
    return this.#budgetWindows;
  }

  use(budgetWindows: readonly BudgetWindows[]): void {
    this.#budgetWindows = budgetWindows;
    this.#epoch++;
  }

  /** A holder has a balance from now on. */
  opened(): void {
    this.#epoch++;
  }

  /** Returns the windows that an account would draw on at a time. Creates no state: the caller may be unknown. */
  windowsOf({ scope }: Account, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      windows.windowAt(timeMs);
      const subject = subjectOf(windows.budget, scope);
      const fund = subject === null ? null : windows.lookAt(subject, timeMs);
      return fund ? [fund] : [];
    });
  }

  /** Returns the funds that an account draws on at a time, ms since 1970. */
  of(account: Account, timeMs: number): readonly DrawnFund[] {
    if (account.epoch === this.#epoch && timeMs >= account.from && timeMs < account.until) return account.funds;
    const funds: DrawnFund[] = [];
    let from = 0;
    let until = Number.POSITIVE_INFINITY;
    for (const windows of this.#budgetWindows) {
      const { starts, ends } = windows.windowAt(timeMs);
      from = Math.max(from, starts);
      until = Math.min(until, ends);
      const subject = subjectOf(windows.budget, account.scope);
      const fund = subject === null ? null : windows.fundAt(subject, timeMs);
      if (fund) funds.push(fund);
    }
    const { holder } = account;
    const hasBalance = this.#hasBalance(holder);
    // A holder that pays in itself always has a balance, so that it cannot be billed afterwards.
    if (hasBalance || isAddress(holder)) funds.push(balanceFund(holder));
    // Not cached: the funds of a window that has ended, which are seldom asked for, and a balance that the books may forget.
    if (timeMs < from || (!hasBalance && isAddress(holder))) return funds;
    account.funds = funds;
    account.epoch = this.#epoch;
    account.from = from;
    account.until = until;
    return funds;
  }

  /** Returns the windows at a time that sessions of a key have begun to draw on. */
  ofSessions(keyId: string, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      if (!windows.budget.isOfSessions) return [];
      windows.windowAt(timeMs);
      return [...windows.funds].filter(({ title }) => title.subject.startsWith(`${keyId}/`));
    });
  }

  /** Returns every fund that requests of a key can draw on in the windows of `timeMs`, for any of these model names. */
  ofNames(scopes: readonly BudgetScope[], keyId: string, timeMs: number): DrawnFund[] {
    const found = new Set<DrawnFund>();
    for (const windows of this.#budgetWindows) {
      windows.windowAt(timeMs);
      // Most budgets do not depend on the model: then one name stands for all.
      const asked = windows.budget.definition.includes('request') ? scopes : scopes.slice(0, 1);
      for (const scope of asked) {
        const subject = subjectOf(windows.budget, scope);
        const fund = subject === null ? null : windows.fundAt(subject, timeMs);
        if (fund) found.add(fund);
      }
    }
    if (this.#hasBalance(keyId)) found.add(balanceFund(keyId));
    return [...found];
  }
}
