import { type FundStanding, fit, isBlocked } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/credits.ts';
import { type DrawnFund, mayCap } from './drawn-fund.ts';
import type { HoldRequest } from './hold-request.ts';

/** The amounts of a request for money. */
export type HoldTerms = Pick<HoldRequest, 'amounts' | 'whole' | 'least' | 'ample' | 'growth'>;

/** The money that a request would set aside first. */
export interface FirstHold {
  readonly amount: Microcredits;
  /** Whether it grows with the answer. */
  readonly grows: boolean;
}

/** Reads the figures of funds, where they are needed. */
export type FundLook = (funds: readonly DrawnFund[]) => readonly FundStanding[];

/** Returns the terms of the first tranche where the hold on these funds is to grow; null where it is not. */
export function trancheTermsOf(terms: HoldTerms, funds: readonly DrawnFund[], look: FundLook): HoldTerms | null {
  const { growth, amounts } = terms;
  if (!growth || funds.length === 0 || !mayCap(funds)) return null;
  if (amounts[0] <= growth.wholeShare * leastIn(look(funds), 'free')) return null;
  const first = growth.first();
  return first && { amounts: [first.wanted], least: first.least, ample: first.wanted };
}

/** The amounts to ask of these funds. A capped request asks for its whole where they cap, and so gets its part of what is free. */
export const amountsFor = ({ amounts, whole }: HoldTerms, funds: readonly DrawnFund[]): HoldTerms['amounts'] =>
  whole !== undefined && whole > amounts[0] && mayCap(funds) ? [whole, ...amounts.slice(1)] : amounts;

/**
 * The least that a hold on these funds must have: the whole first amount where one of them must not cap. A patient answer does not
 * begin on less than an ample hold, or all that is left, while open holds will still release it.
 */
export function leastFor(
  { amounts, least, ample }: HoldTerms,
  funds: readonly DrawnFund[],
  isPatient: boolean,
  look: FundLook,
): Microcredits {
  if (least === null || !mayCap(funds)) return amounts[0];
  if (!isPatient || ample === undefined) return least;
  return Math.max(least, Math.min(amounts[0], ample, leastIn(look(funds), 'unspent')));
}

/** The least figure of these funds; Infinity for none. */
export function leastIn(standings: readonly FundStanding[], figure: 'free' | 'unspent'): Microcredits {
  let least = Number.POSITIVE_INFINITY;
  for (const standing of standings) least = Math.min(least, standing[figure]);
  return least;
}

/** Returns the hold that a request would get at once; null where it would wait, or could not be paid. */
export function firstHoldOf(
  asked: HoldTerms,
  funds: readonly DrawnFund[],
  standings: readonly FundStanding[],
): FirstHold | null {
  const look = () => standings;
  const tranche = trancheTermsOf(asked, funds, look);
  const terms = tranche ?? asked;
  const amount = fit(standings, amountsFor(terms, funds), 0, leastFor(terms, funds, true, look), terms.ample);
  return isBlocked(amount) ? null : { amount, grows: tranche !== null };
}
