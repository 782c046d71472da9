import { type Window, windowOf } from '../core/accounting/window.ts';
import type { Budget, BudgetScope } from '../core/money/budget.ts';
import { isAddress } from '../core/money/holder-address.ts';
import type { KeyBudget } from '../core/people/caller.ts';
import type { BudgetHolder } from '../core/people/holder.ts';
import { holds, subjectIn } from '../core/policy/condition.ts';
import type { EnforcedBudget } from '../store/books.ts';
import type { Account, BudgetScopes } from './accounts.ts';
import { BudgetFund, balanceFund, type CountedBudget, type DrawnFund } from './drawn-fund.ts';
import { holderBudgetName, levelOf } from './holder-budgets.ts';

/** The funds of all subjects in one window. */
interface Counts {
  readonly window: Window;
  readonly funds: Map<string, BudgetFund>;
}

/** The current windows of one budget: one for each subject that has spent. */
export class BudgetWindows {
  readonly #counted: CountedBudget;
  #present: Counts;
  /**
   * The previous window, for requests that were admitted in it; null if there was none. Keeping a single previous window is enough: a
   * deadline is at most a day, so hardly any request outlives the window after the window in which the request was admitted.
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

  /** The terms that apply to all windows of the budget. */
  get enforced(): EnforcedBudget {
    const { budget, generation, rank, at } = this.#counted;
    const { limit, limits } = budget;
    return { budget: generation, rank, at, limit, ...(limits && { limits }) };
  }

  /** The current window of the budget at the last call of `windowAt`. */
  get window(): Window {
    return this.#present.window;
  }

  get funds(): Iterable<BudgetFund> {
    return this.#present.funds.values();
  }

  /** Returns the current window. If `timeMs` is after the end of the current window, a new window starts for all subjects. */
  windowAt(timeMs: number): Window {
    if (timeMs >= this.#present.window.ends) {
      this.#before = this.#present;
      this.#present = { window: windowOf(this.budget, timeMs), funds: new Map() };
    }
    return this.#present.window;
  }

  /** @returns the fund of a subject in the window of a time, or null if that window is no longer kept */
  fundAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? this.#open(counts, subject));
  }

  /** Returns the same as `fundAt`, but stores no fund for a subject that has not spent yet. */
  lookAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? new BudgetFund(this.#counted, counts.window, subject));
  }

  /** @returns the fund that a charge of `timeMs` counts in, even if the fund's window is no longer kept */
  countingAt(subject: string, timeMs: number): BudgetFund {
    const kept = this.#countsAt(timeMs);
    if (kept && timeMs < kept.window.ends) return kept.funds.get(subject) ?? this.#open(kept, subject);
    return new BudgetFund(this.#counted, windowOf(this.budget, timeMs), subject);
  }

  /** @returns the same windows under new terms, from the window of `timeMs` on, without earlier windows */
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
    // The code checks both bounds of the window, because windows may have started and ended between two calls.
    return before !== null && timeMs >= before.window.starts && timeMs < before.window.ends ? before : null;
  }
}

/** @returns the subject whose share of a budget a request draws on, or null if the budget does not apply */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/** Returns the same subjects as `subjectsOf`, but also a subject without a limit if the budget has separate limits. */
export const chargedSubjectsOf = (budget: Budget, scopes: BudgetScopes): readonly string[] =>
  budget.limits ? [subjectIn(budget.each, scopes[0])] : subjectsOf(budget, scopes);

/**
 * Returns the subjects whose shares of a budget a request draws on: the subject of its key, and the subject of each parent key, if
 * different, as if the parent key had sent the request. The conditions of holders' budgets find the parent keys of a request themselves.
 */
export function subjectsOf(budget: Budget, scopes: BudgetScopes): readonly string[] {
  const own = subjectOf(budget, scopes[0]);
  const first = own === null ? NO_SUBJECTS : [own];
  if (scopes.length === 1 || budget.limits) return first;
  return [...new Set([...first, ...scopes.slice(1).flatMap((scope) => subjectOf(budget, scope) ?? NO_SUBJECTS)])];
}

const NO_SUBJECTS: readonly string[] = [];

/** Finds the funds that an account draws on: windows of the active budgets, and its balance. State: budget windows. */
export class Funds {
  readonly #hasBalance: (holder: string) => boolean;
  #budgetWindows: readonly BudgetWindows[] = [];
  /** Increased whenever the funds of an account may have changed, and this increase invalidates the cached funds. */
  #epoch = 0;

  /** @param hasBalance whether a holder was ever granted or paid in anything */
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

  /** The books call this method when a holder gets its first balance. */
  opened(): void {
    this.#epoch++;
  }

  /** @returns the windows that an account would draw on at a time. This method stores no windows, because the caller may be unknown. */
  windowsOf({ scopes }: Account, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      windows.windowAt(timeMs);
      return subjectsOf(windows.budget, scopes).flatMap((subject) => windows.lookAt(subject, timeMs) ?? []);
    });
  }

  /**
   * @param timeMs ms since 1970
   * @returns the funds that an account draws on at that time
   */
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
    // A wallet always draws on its balance, even before its first payment, because it pays in advance and is never billed later.
    if (hasBalance || isAddress(holder)) funds.push(balanceFund(holder));
    // Two cases are not cached: a window that is over, which is rarely needed, and a wallet without a balance.
    if (timeMs < from || (!hasBalance && isAddress(holder))) return funds;
    account.funds = funds;
    account.epoch = this.#epoch;
    account.from = from;
    account.until = until;
    return funds;
  }

  /** @returns the window of a holder's own budget at a time, or null if the budget is not active. This method stores no window. */
  ofHolder({ kind, id }: BudgetHolder, of: KeyBudget, timeMs: number): DrawnFund | null {
    const name = holderBudgetName(kind, of);
    const found = this.#budgetWindows.find(
      ({ budget }) => budget.name === name && levelOf(budget.definition) === kind && budget.limits?.has(id),
    );
    found?.windowAt(timeMs);
    return found?.lookAt(id, timeMs) ?? null;
  }

  /** @returns the windows at a time for sessions of a key that have drawn on the windows */
  ofSessions(keyId: string, timeMs: number): DrawnFund[] {
    return this.#budgetWindows.flatMap((windows) => {
      if (!windows.budget.isOfSessions) return [];
      windows.windowAt(timeMs);
      return [...windows.funds].filter(({ title }) => title.subject.startsWith(`${keyId}/`));
    });
  }

  /**
   * Returns every fund that requests of a key can draw on at `timeMs`, for any of these model names. The result leaves out the budgets of
   * parent keys, because a child key must not see the spending of its parent keys.
   */
  ofNames(scopes: readonly BudgetScope[], keyId: string, timeMs: number): DrawnFund[] {
    const found = new Set<DrawnFund>();
    for (const windows of this.#budgetWindows) {
      windows.windowAt(timeMs);
      // If no budget depends on the requested model, as in most policies, a single name is enough.
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
