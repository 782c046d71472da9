import { QUARTER_MS } from '../../core/accounting/window.ts';
import type { Microcredits } from '../../core/credits.ts';

/** The initial room, in reservations. */
const FIRST_ROOM = 1_024;

/**
 * Every reservation that an audit has read: its account, and its charge less refunds.
 * Three numbers each, ordered by ID, because a journal may hold many millions. IDs nearly ascend: only requests that waited
 * for money come late.
 */
export class SeenReservations {
  size = 0;
  #ids = new Float64Array(FIRST_ROOM);
  #accounts = new Float64Array(FIRST_ROOM);
  #charged = new Float64Array(FIRST_ROOM);

  /** Adds a reservation. Returns false if it is already there. */
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

  /** The account of a reservation; null for one that is not there. */
  accountOf(id: number): number | null {
    const at = this.#placeOf(id);
    return at < this.size && this.#ids[at] === id ? this.#accounts[at]! : null;
  }

  /** Adds a charge, or (negative) a refund. Returns the remaining charge. */
  charge(id: number, amount: Microcredits): Microcredits {
    const at = this.#placeOf(id);
    this.#charged[at] = this.#charged[at]! + amount;
    return this.#charged[at]!;
  }

  /** Returns the place of an ID, or the place where it belongs. */
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

/** Sums by the quarter of an hour, to be added up by windows. */
export class QuarterSums {
  /** Ascending. */
  readonly #quarters: number[] = [];
  readonly #sums: Microcredits[] = [];

  add(quarter: number, amount: Microcredits): void {
    // Nearly all of them belong at the end.
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

  /** Windows begin and end with a quarter of an hour, so no quarter is divided. A window may be long over: refunds come later. */
  within(startsMs: number, endsMs: number): Microcredits {
    let sum = 0;
    for (let at = this.#quarters.length; at > 0 && this.#quarters[at - 1]! * QUARTER_MS >= startsMs; at--) {
      if (this.#quarters[at - 1]! * QUARTER_MS < endsMs) sum += this.#sums[at - 1]!;
    }
    return sum;
  }
}
