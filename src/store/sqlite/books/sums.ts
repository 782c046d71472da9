import type { StatedCost } from '../../../core/accounting/bill.ts';
import type { Dimensions } from '../../../core/accounting/entry.ts';
import { quarterOf } from '../../../core/accounting/window.ts';
import { timeOfId } from '../../../core/id.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { SpendRow } from '../../journal-reader.ts';
import type { BookedFund } from './fund-states.ts';

/** The sum of the charges of an account at a tariff in a quarter of an hour, since the last checkpoint. */
export interface Sum extends Pick<SpendRow, 'quarter' | 'account' | 'tariff'> {
  readonly dimensions: Dimensions;
  charges: number;
  microcredits: Microcredits;
  input: number;
  output: number;
  stated: Microcredits;
  matched: Microcredits;
  /** Whether the sum was handed over to be written. Charges that come later go into a new sum. */
  taken: boolean;
}

/** A charge, or a refund as a negative amount. */
export interface Charge extends Pick<SpendRow, 'tariff' | 'microcredits' | 'input' | 'output'> {
  /** The ID of the reservation. A charge counts in the quarter of an hour of its reservation, no matter how late the charge comes. */
  readonly reservation: number;
}

/** An account with the fields that sums need. */
export interface Spender {
  readonly id: number;
  readonly dimensions: Dimensions;
  /** The sum that the account's last charge was added to. */
  sum: Sum | null;
}

/** Adds up charges in memory until they are written to the table `spend`. State: sums. */
export class Sums {
  #fresh = new Map<string, Sum>();
  /** The sums that are being written to the table `spend`. */
  #taken: readonly Sum[] = [];
  /** How many times sums were handed over. */
  takes = 0;
  /** A function that is called with each charge before it is added; null if no listener is set. */
  onAdd: ((account: Spender, charge: Charge, funds: readonly BookedFund[]) => void) | null = null;

  /** Yields the sums that are not in the table yet. */
  *[Symbol.iterator](): Generator<Sum> {
    yield* this.#taken;
    yield* this.#fresh.values();
  }

  /** @param funds the funds that the charge drew on */
  add(account: Spender, charge: Charge, funds: readonly BookedFund[]): void {
    this.onAdd?.(account, charge, funds);
    const { tariff, microcredits, input, output } = charge;
    const quarter = quarterOf(timeOfId(charge.reservation));
    let sum = account.sum;
    // Most charges of an account belong to the same sum as its previous charge.
    if (sum === null || sum.taken || sum.quarter !== quarter || sum.tariff !== tariff) {
      sum = this.#sumOf(quarter, account.id, account.dimensions, tariff);
      account.sum = sum;
    }
    sum.charges++;
    sum.microcredits += microcredits;
    sum.input += input;
    sum.output += output;
  }

  /** Adds the cost that the answer of an account's last charge states. */
  addStated({ sum }: Spender, { stated, cost }: StatedCost): void {
    sum!.stated += stated;
    sum!.matched += cost;
  }

  /** Hands over all sums and starts new sums. The caller must call `written` or `putBack` before the next call. */
  take(): readonly Sum[] {
    this.#taken = [...this.#fresh.values()];
    for (const sum of this.#taken) sum.taken = true;
    this.takes++;
    this.#fresh = new Map();
    return this.#taken;
  }

  /** Drops the sums that were handed over, because these sums are now in the table. */
  written(): void {
    this.#taken = [];
  }

  /** Keeps the sums that were handed over, because they could not be written. */
  putBack(): void {
    const sums = this.#taken;
    this.#taken = [];
    for (const one of sums) {
      const { quarter, account, dimensions, tariff, charges, microcredits, input, output, stated, matched } = one;
      const sum = this.#sumOf(quarter, account, dimensions, tariff);
      sum.charges += charges;
      sum.microcredits += microcredits;
      sum.input += input;
      sum.output += output;
      sum.stated += stated;
      sum.matched += matched;
    }
  }

  #sumOf(quarter: number, account: number, dimensions: Dimensions, tariff: number): Sum {
    const none = { charges: 0, microcredits: 0, input: 0, output: 0, stated: 0, matched: 0, taken: false };
    const key = `${quarter}/${account}/${tariff}`;
    return this.#fresh.getOrInsertComputed(key, () => ({ quarter, account, dimensions, tariff, ...none }));
  }
}
