import { type Window, windowAt } from '../core/accounting/window.ts';
import type { Budget, BudgetScope } from '../core/budget.ts';
import type { KeyBudget } from '../core/caller.ts';
import { holds, subjectIn } from '../core/condition.ts';
import type { BudgetHolder } from '../core/holder.ts';
import { isAddress } from '../core/holder-address.ts';
import type { EnforcedBudget } from '../store/books.ts';
import type { Account, BudgetScopes } from './accounts.ts';
import { BudgetFund, balanceFund, type CountedBudget, type DrawnFund } from './drawn-fund.ts';
import { levelOf } from './holder-budgets.ts';

/** The funds of subjects in one window. */
interface Counts {
  readonly window: Window;
  readonly funds: Map<string, BudgetFund>;
}

/** The windows of one budget that are open now: one for each subject that has spent. */
export class BudgetWindows {
  readonly #counted: CountedBudget;
  #present: Counts;
  /**
   * The window before, for requests that were admitted in it; null while there was none. One is enough, because a deadline is a
   * day at most: hardly a request outlives the next window.
   */
  #before: Counts | null = null;

  constructor(counted: CountedBudget, window: Window) {
    this.#counted = counted;
    this.#present = { window, funds: new Map() };
  }

  get budget(): Budget {
    return this.#counted.budget;
  }

  get generation(): number {
    return this.#counted.generation;
  }

  /** The terms that hold for all of its windows. */
  get enforced(): EnforcedBudget {
    const { budget, generation, rank } = this.#counted;
    const { limit, limits } = budget;
    return { budget: generation, rank, limit, ...(limits && { limits }) };
  }

  /** The window in force when one was last asked for. */
  get window(): Window {
    return this.#present.window;
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
    return counts && (counts.funds.get(subject) ?? this.#open(counts, subject));
  }

  /** As `fundAt`, but keeps nothing for a subject that has not spent yet. */
  lookAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? new BudgetFund(this.#counted, counts.window, subject));
  }

  /** Returns the fund in which a charge of `timeMs` counts, kept or not. */
  countingAt(subject: string, timeMs: number): BudgetFund {
    const kept = this.#countsAt(timeMs);
    if (kept && timeMs < kept.window.ends) return kept.funds.get(subject) ?? this.#open(kept, subject);
    return new BudgetFund(this.#counted, windowAt(this.budget.window, this.budget.timeZone, timeMs), subject);
  }

  /** Returns the same windows under other terms, from the window of `timeMs` on. Earlier windows are dropped. */
  under(counted: CountedBudget, timeMs: number): BudgetWindows {
    const next = new BudgetWindows(counted, this.windowAt(timeMs));
    for (const [subject, before] of this.#present.funds) next.#present.funds.set(subject, before.under(counted));
    return next;
  }

  #open({ window, funds }: Counts, subject: string): BudgetFund {
    const fund = new BudgetFund(this.#counted, window, subject);
    funds.set(subject, fund);
    return fund;
  }

  #countsAt(timeMs: number): Counts | null {
    if (timeMs >= this.#present.window.starts) return this.#present;
    const before = this.#before;
    // Windows in between may have begun and ended without a look.
    return before !== null && timeMs >= before.window.starts && timeMs < before.window.ends ? before : null;
  }
}

/** Returns the subject whose share of a budget a request draws on; null when the budget does not apply. */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/**
 * Returns the subjects whose shares of a budget a request draws on: that of its key, and where it differs that of each key above, as
 * if that had sent it. Budgets of holders look for the line themselves.
 */
export function subjectsOf(budget: Budget, scopes: BudgetScopes): readonly string[] {
  const own = subjectOf(budget, scopes[0]);
  const first = own === null ? NO_SUBJECTS : [own];
  if (scopes.length === 1 || budget.limits) return first;
  return [...new Set([...first, ...scopes.slice(1).flatMap((scope) => subjectOf(budget, scope) ?? NO_SUBJECTS)])];
}

const NO_SUBJECTS: readonly string[] = [];

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
  windowsOf({ scopes }: Account, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      windows.windowAt(timeMs);
      return subjectsOf(windows.budget, scopes).flatMap((subject) => windows.lookAt(subject, timeMs) ?? []);
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
      for (const subject of subjectsOf(windows.budget, account.scopes)) {
        const fund = windows.fundAt(subject, timeMs);
        if (fund) funds.push(fund);
      }
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

  /** Returns the window of a holder's own budget at a time; null where it is not in force. Creates no state. */
  ofHolder({ kind, id }: BudgetHolder, { window, timeZone, onExhausted }: KeyBudget, timeMs: number): DrawnFund | null {
    const found = this.#budgetWindows.find(({ budget }) => {
      const isAlike = budget.window === window && budget.timeZone === timeZone && budget.onExhausted === onExhausted;
      return isAlike && levelOf(budget.definition) === kind && budget.limits?.has(id);
    });
    found?.windowAt(timeMs);
    return found?.lookAt(id, timeMs) ?? null;
  }

  /** Returns the windows at a time that sessions of a key have begun to draw on. */
  ofSessions(keyId: string, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      if (!windows.budget.isOfSessions) return [];
      windows.windowAt(timeMs);
      return [...windows.funds].filter(({ title }) => title.subject.startsWith(`${keyId}/`));
    });
  }

  /**
   * Returns every fund that requests of a key can draw on in the windows of `timeMs`, for any of these model names, but for those of
   * keys above it, whose spending is their own.
   */
  ofNames(scopes: readonly BudgetScope[], keyId: string, timeMs: number): DrawnFund[] {
    const found = new Set<DrawnFund>();
    for (const windows of this.#budgetWindows) {
      windows.windowAt(timeMs);
      // Most budgets do not depend on the model: then one name stands for all.
      const asked = windows.budget.definition.includes('request') ? scopes : scopes.slice(0, 1);
      for (const scope of asked) {
        const subject = subjectOf(windows.budget, scope);
        const isAbove = subject !== keyId && levelOf(windows.budget.definition) === 'key';
        const fund = subject === null || isAbove ? null : windows.fundAt(subject, timeMs);
        if (fund) found.add(fund);
      }
    }
    if (this.#hasBalance(keyId)) found.add(balanceFund(keyId));
    return [...found];
  }
}
