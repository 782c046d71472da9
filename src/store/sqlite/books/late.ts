import { type HeldSum, leftOf, post, type Step } from '../../../core/accounting/held-sum.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { OpResult } from '../../books.ts';
import type { BookedFund } from './fund-states.ts';
import type { BookedReservation } from './reservations.ts';

/** The function charges at most `most`, because the caller may know of less money than the reservation has. */
export function capped<Cost>(
  state: HeldSum,
  most: Microcredits,
  charge: (state: HeldSum, cost: Cost) => Step,
  cost: Cost,
): Step {
  if (!(most < leftOf(state))) return charge(state, cost);
  const step = charge({ ...state, amount: state.charged + most }, cost);
  return { ...step, next: { ...step.next, amount: state.amount } };
}

/** Notes a post on an expired reservation. It counts once the reservation is settled. */
export function postLate(made: BookedReservation, cost: Microcredits, most: Microcredits): OpResult {
  if (made.late === null) return { kind: 'charged', charged: 0, overrun: 0 };
  const step = capped(made.late, most, post, cost);
  made.late = step.next;
  made.overrun += step.excess;
  return { kind: 'charged', charged: step.charged, overrun: step.excess };
}

/** Returns the money that is free in every one of the funds; Infinity for no fund. */
export const leastFree = (funds: readonly BookedFund[]): Microcredits =>
  funds.reduce((least, { free }) => Math.min(least, free), Number.POSITIVE_INFINITY);
