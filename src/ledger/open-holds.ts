import type { ReservationHold } from './hold.ts';

/**
 * The holds that are not settled, oldest first. A linked list, not a Set: a growing Set keeps its old entries in
 * memory until the next full collection, and every request passes here.
 */
export class OpenHolds {
  #first: ReservationHold | null = null;
  #last: ReservationHold | null = null;
  size = 0;

  add(hold: ReservationHold): void {
    hold.before = this.#last;
    if (this.#last) this.#last.after = hold;
    else this.#first = hold;
    this.#last = hold;
    this.size++;
  }

  /** Takes out a hold that is in the list. */
  remove(hold: ReservationHold): void {
    const { before, after } = hold;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    hold.before = null;
    hold.after = null;
    this.size--;
  }

  /** All of them, as they are now: the list may change while they are gone through. */
  all(): ReservationHold[] {
    const all: ReservationHold[] = [];
    for (let hold = this.#first; hold; hold = hold.after) all.push(hold);
    return all;
  }
}
