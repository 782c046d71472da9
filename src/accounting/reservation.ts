import type { Microcredits } from '../core/credits.ts';

/** `pending` is open; the others are final. */
export type ReservationState =
  | 'pending'
  /** Closed with something charged, or with a completion that cost nothing. */
  | 'posted'
  /** Closed with nothing to charge, and fully released. */
  | 'void'
  /** Never settled, mostly because of a crash, and closed by rule. */
  | 'expired';

/**
 * Money set aside for one request. At every moment
 * `0 ≤ charged ≤ amount`, and `amount ≤ limit` where there is a limit.
 */
export interface Reservation {
  readonly state: ReservationState;
  /** Reserved so far. */
  readonly amount: Microcredits;
  /** Posted so far. */
  readonly charged: Microcredits;
  /** The most that the request may consume; null when it set no limit. */
  readonly limit: Microcredits | null;
}

/** The result of one step. Of each cost, `charged` is the caller's part and `excess` the operator's. */
export interface Step {
  readonly next: Reservation;
  readonly charged: Microcredits;
  readonly excess: Microcredits;
}

/** Whether an amount can be set aside or charged. */
export const isCost = (amount: Microcredits): boolean => Number.isSafeInteger(amount) && amount >= 0;

/** Throws RangeError for an invalid amount or one above the limit, a mistake in the program. */
export function checkReservation(amount: Microcredits, limit: Microcredits | null): void {
  if (!isCost(amount)) throw new RangeError(`cannot reserve ${amount} microcredits`);
  if (limit !== null && !(amount <= limit)) throw new RangeError(`cannot reserve ${amount} with a limit of ${limit}`);
}

/** Makes a reservation. Throws RangeError as `checkReservation`. */
export function openReservation(amount: Microcredits, limit: Microcredits | null): Reservation {
  checkReservation(amount, limit);
  return { state: 'pending', amount, charged: 0, limit };
}

/** Returns the sum that may still be charged. */
export function leftOf(reservation: Reservation): Microcredits {
  return reservation.state === 'pending' ? reservation.amount - reservation.charged : 0;
}

/** Returns the reservation raised by `by`; null if it is closed or its limit forbids it. */
export function raise(reservation: Reservation, by: Microcredits): Reservation | null {
  const amount = reservation.amount + by;
  if (reservation.state !== 'pending' || !isCost(by) || !isCost(amount)) return null;
  if (reservation.limit !== null && amount > reservation.limit) return null;
  return { ...reservation, amount };
}

/** Charges the cost of an attempt, as far as the reservation goes, and leaves the rest of it open. */
export function post(reservation: Reservation, cost: Microcredits): Step {
  return charge(reservation, cost, reservation.state);
}

/**
 * Charges the last attempt, if there was one, and releases the rest. A closed reservation stays as it is, and nothing is
 * charged.
 */
export function settle(reservation: Reservation, cost: Microcredits | null): Step {
  if (reservation.state !== 'pending') return { next: reservation, charged: 0, excess: 0 };
  const state = cost === null && reservation.charged === 0 ? 'void' : 'posted';
  return charge(reservation, cost ?? 0, state);
}

/** Closes an unsettled reservation: charged in full, since the upstream's work is unknown, or released. */
export function expire(reservation: Reservation, rule: 'charge' | 'release'): Step {
  if (reservation.state !== 'pending') return { next: reservation, charged: 0, excess: 0 };
  const charged = rule === 'charge' ? leftOf(reservation) : 0;
  const { amount, limit } = reservation;
  return { next: { state: 'expired', amount, charged: reservation.charged + charged, limit }, charged, excess: 0 };
}

/** Charges a cost. An impossible cost counts as all that is left: never free, and never more than was reserved. */
function charge(reservation: Reservation, cost: Microcredits, state: ReservationState): Step {
  const left = leftOf(reservation);
  const known = isCost(cost) ? cost : left;
  const charged = Math.min(known, left);
  const { amount, limit } = reservation;
  return { next: { state, amount, charged: reservation.charged + charged, limit }, charged, excess: known - charged };
}
