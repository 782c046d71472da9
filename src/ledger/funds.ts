import type { Budget, BudgetScope } from '../core/budget.ts';
import { holds, subjectIn } from '../core/condition.ts';
import type { Microcredits } from '../core/credits.ts';
import { isWallet } from '../core/wallet.ts';
import type { Account } from './accounts.ts';
import { BudgetFund, balanceFund, type DrawnFund, type FundTerms } from './drawn-fund.ts';
import { type Window, windowAt } from './rules/window.ts';

/** The funds of subjects in one window. */
interface Counts {
  readonly window: Window;
  readonly funds: Map<string, BudgetFund>;
}

interface KeptCounts {
  readonly id: number;
  readonly funds: ReadonlyMap<string, BudgetFund>;
  readonly changed: readonly BudgetFund[];
}

let counters = 0;

/** The windows of one budget that are open now: one for each subject that has spent. */
export class Counter {
  readonly budget: Budget;
  /** The funds that have another limit than before. */
  readonly changed: readonly BudgetFund[];
  /** Tells its funds from those of a budget that was counted anew. */
  readonly #id: number;
  #present: Counts;
  /** The window before, for those who were admitted in it and reserve now; null while there was none. */
  #before: Counts | null = null;

  /**
   * @param spent microcredits that subjects have spent in the window
   * @param kept the counts that go on under other terms, in place of `spent`
   */
  constructor(budget: Budget, window: Window, spent: ReadonlyMap<string, Microcredits>, kept?: KeptCounts) {
    this.budget = budget;
    this.#id = kept?.id ?? ++counters;
    this.changed = kept?.changed ?? [];
    const funds = new Map(kept?.funds);
    for (const [subject, opening] of spent) funds.set(subject, openFund(this.#id, budget, window, subject, opening));
    this.#present = { window, funds };
  }

  get funds(): Iterable<BudgetFund> {
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
  fundAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    if (counts === null) return null;
    let fund = counts.funds.get(subject);
    if (!fund) {
      fund = openFund(this.#id, this.budget, counts.window, subject, 0);
      counts.funds.set(subject, fund);
    }
    return fund;
  }

  /** The same, and nothing is kept of it for a subject that has not spent yet. */
  lookAt(subject: string, timeMs: number): BudgetFund | null {
    const counts = this.#countsAt(timeMs);
    return counts && (counts.funds.get(subject) ?? openFund(this.#id, this.budget, counts.window, subject, 0));
  }

  /** The same counts under other terms, from the window of `timeMs` on: what is over is no longer drawn on. */
  under(budget: Budget, timeMs: number): Counter {
    this.windowAt(timeMs);
    const { window, funds } = this.#present;
    const changed: BudgetFund[] = [];
    const present = new Map<string, BudgetFund>();
    for (const [subject, fund] of funds) {
      const next = fund.under(termsOf(budget, subject));
      present.set(subject, next);
      if (next.limit !== fund.limit) changed.push(next);
    }
    return new Counter(budget, window, new Map(), { id: this.#id, funds: present, changed });
  }

  #countsAt(timeMs: number): Counts | null {
    if (timeMs >= this.#present.window.starts) return this.#present;
    return this.#before !== null && timeMs >= this.#before.window.starts ? this.#before : null;
  }
}

function termsOf({ limit, limits, onExhausted, alertAt }: Budget, subject: string): FundTerms {
  return { limit: limits?.get(subject) ?? limit, onExhausted, alertAt };
}

function openFund(
  id: number,
  budget: Budget,
  { starts, ends }: Window,
  subject: string,
  spent: Microcredits,
): BudgetFund {
  const { name, definition } = budget;
  const title = { kind: 'budget', name, subject, definition, starts, ends } as const;
  return new BudgetFund(`${id}/${starts}/${subject}`, title, termsOf(budget, subject), spent);
}

/** Returns the subject whose share of a budget a request draws on; null when the budget does not apply. */
export function subjectOf({ match, each }: Budget, scope: BudgetScope): string | null {
  return holds(match, scope) ? subjectIn(each, scope) : null;
}

/** Which funds an account draws on: the windows of the budgets in force, and its balance. */
export class Funds {
  readonly #hasBalance: (holder: string) => boolean;
  #counters: readonly Counter[] = [];
  /** Changes whenever another set of funds may apply to an account. */
  #epoch = 0;

  /** @param hasBalance whether something was ever granted to a holder or paid in by it */
  constructor(hasBalance: (holder: string) => boolean) {
    this.#hasBalance = hasBalance;
  }

  get counters(): readonly Counter[] {
    return this.#counters;
  }

  use(counters: readonly Counter[]): void {
    this.#counters = counters;
    this.#epoch++;
  }

  /** A holder has a balance from now on. */
  opened(): void {
    this.#epoch++;
  }

  /** The windows that an account would draw on at a time. Creates no state: the caller may be unknown. */
  windowsOf({ scope }: Account, timeMs: number): DrawnFund[] {
    return this.#counters.flatMap((counter) => {
      counter.windowAt(timeMs);
      const subject = subjectOf(counter.budget, scope);
      const fund = subject === null ? null : counter.lookAt(subject, timeMs);
      return fund ? [fund] : [];
    });
  }

  /** Returns the funds that an account draws on at a time, ms since 1970. */
  of(account: Account, timeMs: number): readonly DrawnFund[] {
    if (account.epoch === this.#epoch && timeMs >= account.from && timeMs < account.until) return account.funds;
    const funds: DrawnFund[] = [];
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
    const { holder } = account;
    const hasBalance = this.#hasBalance(holder);
    // A wallet has a balance from the first: without one it would be post-paid.
    if (hasBalance || isWallet(holder)) funds.push(balanceFund(holder));
    // Few are late, about the change of a window; and a balance that is not kept must not be remembered.
    if (timeMs < from || (!hasBalance && isWallet(holder))) return funds;
    account.funds = funds;
    account.epoch = this.#epoch;
    account.from = from;
    account.until = until;
    return funds;
  }

  /** Every fund that requests of a key can draw on in the windows of `timeMs`, by any of these names of models. */
  ofNames(scopes: readonly BudgetScope[], keyId: string, timeMs: number): DrawnFund[] {
    const found = new Set<DrawnFund>();
    for (const counter of this.#counters) {
      counter.windowAt(timeMs);
      // Most budgets do not look at the model: one name stands for all.
      const asked = counter.budget.definition.includes('request') ? scopes : scopes.slice(0, 1);
      for (const scope of asked) {
        const subject = subjectOf(counter.budget, scope);
        const fund = subject === null ? null : counter.fundAt(subject, timeMs);
        if (fund) found.add(fund);
      }
    }
    if (this.#hasBalance(keyId)) found.add(balanceFund(keyId));
    return [...found];
  }
}
