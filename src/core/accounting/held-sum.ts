import type { Microcredits } from '../money/credits.ts';

/** The state `pending` means an open hold; all other states are final. */
type HoldState =
  | 'pending'
  /** The held sum was closed with a charge, or with a completion that cost nothing. */
  | 'posted'
  /** The held sum was closed without a charge, and the whole sum was released. */
  | 'void'
  /** The held sum was closed by the policy's `on_crash` rule, because no settlement came, usually after a crash. */
  | 'expired';

/** Money reserved for one request. At every moment `0 ≤ charged ≤ amount`, and `amount ≤ limit` if there is a limit. */
export interface HeldSum {
  readonly state: HoldState;
  /** The microcredits that the hold has reserved so far. */
  readonly amount: Microcredits;
  /** The microcredits that were charged to the hold so far. */
  readonly charged: Microcredits;
  /** The most that the request may consume; null if the request sets no limit. */
  readonly limit: Microcredits | null;
}

/** The result of one step of a held sum. `charged` is the caller's part of a cost, and `excess` is the operator's part. */
export interface Step {
  readonly next: HeldSum;
  readonly charged: Microcredits;
  readonly excess: Microcredits;
}

/** Whether an amount of microcredits can be reserved or charged. */
export const isCost = (amount: Microcredits): boolean => Number.isSafeInteger(amount) && amount >= 0;

/** Throws RangeError for an invalid amount or an amount above the limit, which is a bug in Signalbox. */
export function checkHeldSum(amount: Microcredits, limit: Microcredits | null): void {
  if (!isCost(amount)) throw new RangeError(`cannot reserve ${amount} microcredits`);
  if (limit !== null && !(amount <= limit)) throw new RangeError(`cannot reserve ${amount} with a limit of ${limit}`);
}

/** Makes a held sum. `openHeldSum` throws RangeError for an invalid amount or an amount above the limit. */
export function openHeldSum(amount: Microcredits, limit: Microcredits | null): HeldSum {
  checkHeldSum(amount, limit);
  return { state: 'pending', amount, charged: 0, limit };
}

/** Returns the amount that may still be charged to the held sum. */
export function leftOf(held: HeldSum): Microcredits {
  return held.state === 'pending' ? held.amount - held.charged : 0;
}

/** Returns the held sum raised by `by`; null if the sum is closed or its limit forbids the raise. */
export function raise(held: HeldSum, by: Microcredits): HeldSum | null {
  const amount = held.amount + by;
  if (held.state !== 'pending' || !isCost(by) || !isCost(amount)) return null;
  if (held.limit !== null && amount > held.limit) return null;
  return { ...held, amount };
}

/** Charges the cost of an attempt, at most the amount left in the held sum, and keeps the rest reserved. */
export function post(held: HeldSum, cost: Microcredits): Step {
  return charge(held, cost, held.state);
}

/** Charges the last attempt, if there was one, and releases the rest of the held sum. Settling a closed sum changes and charges nothing. */
export function settle(held: HeldSum, cost: Microcredits | null): Step {
  if (held.state !== 'pending') return { next: held, charged: 0, excess: 0 };
  const state = cost === null && held.charged === 0 ? 'void' : 'posted';
  return charge(held, cost ?? 0, state);
}

/**
 * Closes an unsettled sum. `charge` charges all of the held sum, because the upstream may have done the work; `release` charges nothing.
 */
export function expire(held: HeldSum, rule: 'charge' | 'release'): Step {
  if (held.state !== 'pending') return { next: held, charged: 0, excess: 0 };
  const charged = rule === 'charge' ? leftOf(held) : 0;
  const { amount, limit } = held;
  return { next: { state: 'expired', amount, charged: held.charged + charged, limit }, charged, excess: 0 };
}

/**
 * Charges a cost to a held sum. An impossible cost (negative or fractional) charges the whole amount left, so that a defect never makes a
 * request free.
 */
function charge(held: HeldSum, cost: Microcredits, state: HoldState): Step {
  const left = leftOf(held);
  const known = isCost(cost) ? cost : left;
  const charged = Math.min(known, left);
  const { amount, limit } = held;
  return { next: { state, amount, charged: held.charged + charged, limit }, charged, excess: known - charged };
}
