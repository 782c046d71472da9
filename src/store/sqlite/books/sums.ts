import type { BudgetScope } from '../../../core/budget.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { timeOfId } from '../../../core/id.ts';

/** Sums are kept by the quarter of an hour: the windows of every time zone begin with one. */
export const QUARTER_MS = 900_000;

export const quarterOf = (timeMs: number): number => Math.floor(timeMs / QUARTER_MS);

/** What one account was charged at one tariff in one quarter of an hour, since the last checkpoint. */
export interface Sum {
  readonly quarter: number;
  readonly account: number;
  /** What budgets see of the account. */
  readonly scope: BudgetScope;
  readonly tariff: number;
  charges: number;
  microcredits: Microcredits;
  input: number;
  output: number;
  /** Written already: what comes next goes into another. */
  taken: boolean;
}

/** A charge, or (negative) what is given back. */
export interface Charge {
  /** Charges count where their reservation was made, however late they come. */
  readonly reservation: number;
  /** 0 for none. */
  readonly tariff: number;
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

/** An account, as far as sums go. */
export interface Spender {
  readonly id: number;
  readonly scope: BudgetScope;
  /** What was added to last. */
  sum: Sum | null;
}

/** Adds up charges in memory until they are written to the table `spend`. */
export class Sums {
  #fresh = new Map<string, Sum>();
  /** What is being written. */
  #taken: readonly Sum[] = [];
  /** How often sums were handed over. */
  takes = 0;

  /** All that is not in the table yet. */
  *[Symbol.iterator](): Generator<Sum> {
    yield* this.#taken;
    yield* this.#fresh.values();
  }

  add(account: Spender, charge: Charge): void {
    const { tariff, microcredits, input, output } = charge;
    const quarter = quarterOf(timeOfId(charge.reservation));
    let sum = account.sum;
    // Most charges of an account are like the one before.
    if (sum === null || sum.taken || sum.quarter !== quarter || sum.tariff !== tariff) {
      sum = this.#sumOf(quarter, account.id, account.scope, tariff);
      account.sum = sum;
    }
    sum.charges++;
    sum.microcredits += microcredits;
    sum.input += input;
    sum.output += output;
  }

  /** Hands over all there is and begins anew. One at a time: `written` or `putBack` must follow. */
  take(): readonly Sum[] {
    this.#taken = [...this.#fresh.values()];
    for (const sum of this.#taken) sum.taken = true;
    this.takes++;
    this.#fresh = new Map();
    return this.#taken;
  }

  /** What was taken is in the table. */
  written(): void {
    this.#taken = [];
  }

  /** What was taken could not be written. */
  putBack(): void {
    const sums = this.#taken;
    this.#taken = [];
    for (const { quarter, account, scope, tariff, charges, microcredits, input, output } of sums) {
      const sum = this.#sumOf(quarter, account, scope, tariff);
      sum.charges += charges;
      sum.microcredits += microcredits;
      sum.input += input;
      sum.output += output;
    }
  }

  #sumOf(quarter: number, account: number, scope: BudgetScope, tariff: number): Sum {
    const key = `${quarter}/${account}/${tariff}`;
    let sum = this.#fresh.get(key);
    if (!sum) {
      sum = { quarter, account, scope, tariff, charges: 0, microcredits: 0, input: 0, output: 0, taken: false };
      this.#fresh.set(key, sum);
    }
    return sum;
  }
}
