import { QUARTER_MS } from '../../core/accounting/window.ts';
import type { Microcredits } from '../../core/money/credits.ts';

/** The number of reservations for which the audit allocates memory at first. */
const FIRST_ROOM = 1_024;

/**
 * All reservations that an audit has read: the account and the charge minus refunds of each. A journal may have many millions of
 * reservations, so each reservation takes only three numbers, sorted by ID. New IDs usually belong at the end: only the IDs of requests
 * that waited for money come late.
 */
export class SeenReservations {
  size = 0;
  #ids = new Float64Array(FIRST_ROOM);
  #accounts = new Float64Array(FIRST_ROOM);
  #charged = new Float64Array(FIRST_ROOM);

  /**
   * Adds a reservation.
   * @returns false if it already exists
   */
  add(id: number, account: number): boolean {
    const at = this.#placeOf(id);
    if (at < this.size && this.#ids[at] === id) return false;
    if (this.size === this.#ids.length) this.#grow();
    for (const column of [this.#ids, this.#accounts, this.#charged]) column.copyWithin(at + 1, at, this.size);
    this.#ids[at] = id;
    this.#accounts[at] = account;
    this.#charged[at] = 0;
    this.size++;
    return true;
  }

  /** @returns the account of a reservation, or null if it does not exist */
  accountOf(id: number): number | null {
    const at = this.#placeOf(id);
    return at < this.size && this.#ids[at] === id ? this.#accounts[at]! : null;
  }

  /**
   * Adds a charge, or a refund with a negative amount.
   * @returns the remaining charge, microcredits
   */
  charge(id: number, amount: Microcredits): Microcredits {
    const at = this.#placeOf(id);
    this.#charged[at] = this.#charged[at]! + amount;
    return this.#charged[at]!;
  }

  /** @returns the index of an ID, or the index at which to insert it */
  #placeOf(id: number): number {
    if (this.size === 0 || this.#ids[this.size - 1]! < id) return this.size;
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ids[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const room = Math.ceil(this.#ids.length * 1.5);
    const larger = ({ buffer }: Float64Array<ArrayBuffer>) => new Float64Array(buffer.transfer(8 * room));
    this.#ids = larger(this.#ids);
    this.#accounts = larger(this.#accounts);
    this.#charged = larger(this.#charged);
  }
}

/** The sums of charges for each quarter of an hour, from which the sums of windows are computed. */
export class QuarterSums {
  /** The quarters in ascending order. */
  readonly #quarters: number[] = [];
  readonly #sums: Microcredits[] = [];

  add(quarter: number, amount: Microcredits): void {
    // The code searches from the end, because almost all new quarters are the latest.
    let at = this.#quarters.length;
    while (at > 0 && this.#quarters[at - 1]! > quarter) at--;
    if (at > 0 && this.#quarters[at - 1] === quarter) {
      this.#sums[at - 1]! += amount;
      return;
    }
    this.#quarters.splice(at, 0, quarter);
    this.#sums.splice(at, 0, amount);
  }

  addAll(others: QuarterSums): void {
    for (let at = 0; at < others.#quarters.length; at++) this.add(others.#quarters[at]!, others.#sums[at]!);
  }

  /**
   * @returns the sum in a window. Windows begin and end on a quarter of an hour, so each quarter is either inside or outside a window. The
   * window may have ended long ago, because refunds come later than charges.
   */
  within(startsMs: number, endsMs: number): Microcredits {
    let sum = 0;
    for (let at = this.#quarters.length; at > 0 && this.#quarters[at - 1]! * QUARTER_MS >= startsMs; at--) {
      if (this.#quarters[at - 1]! * QUARTER_MS < endsMs) sum += this.#sums[at - 1]!;
    }
    return sum;
  }
}
