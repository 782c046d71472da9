import type { Microcredits } from '../credits.ts';

/** `pending` is open; the others are final. */
type HoldState =
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
export interface HeldSum {
  readonly state: HoldState;
  /** Reserved so far. */
  readonly amount: Microcredits;
  /** Posted so far. */
  readonly charged: Microcredits;
  /** The most that the request may consume; null when it set no limit. */
  readonly limit: Microcredits | null;
}

/** The result of one step. Of each cost, `charged` is the caller's part and `excess` the operator's. */
export interface Step {
  readonly next: HeldSum;
  readonly charged: Microcredits;
  readonly excess: Microcredits;
}

/** Whether an amount can be set aside or charged. */
export const isCost = (amount: Microcredits): boolean => Number.isSafeInteger(amount) && amount >= 0;

/** Throws RangeError for an invalid amount or one above the limit, a mistake in the program. */
export function checkHeldSum(amount: Microcredits, limit: Microcredits | null): void {
  if (!isCost(amount)) throw new RangeError(`cannot reserve ${amount} microcredits`);
  if (limit !== null && !(amount <= limit)) throw new RangeError(`cannot reserve ${amount} with a limit of ${limit}`);
}

/** Makes a held sum. Throws RangeError as `checkHeldSum`. */
export function openHeldSum(amount: Microcredits, limit: Microcredits | null): HeldSum {
  checkHeldSum(amount, limit);
  return { state: 'pending', amount, charged: 0, limit };
}

/** Returns the sum that may still be charged. */
export function leftOf(held: HeldSum): Microcredits {
  return held.state === 'pending' ? held.amount - held.charged : 0;
}

/** Returns the sum raised by `by`; null if it is closed or its limit forbids it. */
export function raise(held: HeldSum, by: Microcredits): HeldSum | null {
  const amount = held.amount + by;
  if (held.state !== 'pending' || !isCost(by) || !isCost(amount)) return null;
  if (held.limit !== null && amount > held.limit) return null;
  return { ...held, amount };
}

/** Charges the cost of an attempt, as far as the sum goes, and leaves the rest of it open. */
export function post(held: HeldSum, cost: Microcredits): Step {
  return charge(held, cost, held.state);
}

/**
 * Charges the last attempt, if there was one, and releases the rest. A closed one stays as it is, and nothing is
 * charged.
 */
export function settle(held: HeldSum, cost: Microcredits | null): Step {
  if (held.state !== 'pending') return { next: held, charged: 0, excess: 0 };
  const state = cost === null && held.charged === 0 ? 'void' : 'posted';
  return charge(held, cost ?? 0, state);
}

/** Closes an unsettled sum: charged in full, since the upstream's work is unknown, or released. */
export function expire(held: HeldSum, rule: 'charge' | 'release'): Step {
  if (held.state !== 'pending') return { next: held, charged: 0, excess: 0 };
  const charged = rule === 'charge' ? leftOf(held) : 0;
  const { amount, limit } = held;
  return { next: { state: 'expired', amount, charged: held.charged + charged, limit }, charged, excess: 0 };
}

/** Charges a cost. An impossible cost counts as all that is left: never free, and never more than was reserved. */
function charge(held: HeldSum, cost: Microcredits, state: HoldState): Step {
  const left = leftOf(held);
  const known = isCost(cost) ? cost : left;
  const charged = Math.min(known, left);
  const { amount, limit } = held;
  return { next: { state, amount, charged: held.charged + charged, limit }, charged, excess: known - charged };
}
