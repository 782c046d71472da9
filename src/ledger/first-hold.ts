import { type FundStanding, fit, isBlocked } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/money/credits.ts';
import { type DrawnFund, mayCap } from './drawn-fund.ts';
import type { HoldRequest } from './hold-request.ts';

/** The amounts of a request for money, microcredits. */
export type HoldTerms = Pick<HoldRequest, 'amounts' | 'whole' | 'least' | 'ample' | 'growth'>;

/** The money that a request would set aside at first. */
export interface FirstHold {
  readonly amount: Microcredits;
  /** True if the hold grows with the answer. */
  readonly grows: boolean;
}

/** Reads the figures of funds. The ledger calls this function only if it needs the figures. */
export type FundLook = (funds: readonly DrawnFund[]) => readonly FundStanding[];

/** @returns the terms of the first tranche, or null if the hold on these funds does not grow */
export function trancheTermsOf(terms: HoldTerms, funds: readonly DrawnFund[], look: FundLook): HoldTerms | null {
  const { growth, amounts } = terms;
  if (!growth || funds.length === 0 || !mayCap(funds)) return null;
  if (amounts[0] <= growth.wholeShare * leastIn(look(funds), 'free')) return null;
  const first = growth.first();
  return first && { amounts: [first.wanted], least: first.least, ample: first.wanted };
}

/**
 * The amounts to request from these funds. If the funds may cap the output, a capped request asks for the uncapped amount, so that the
 * request gets its share of the free money.
 */
export const amountsFor = ({ amounts, whole }: HoldTerms, funds: readonly DrawnFund[]): HoldTerms['amounts'] =>
  whole !== undefined && whole > amounts[0] && mayCap(funds) ? [whole, ...amounts.slice(1)] : amounts;

/**
 * The least amount that a hold on these funds must have. If a fund must not cap outputs, the least amount is the whole first amount. A
 * request that can wait does not start with less than `ample`, or than all the money that is left, because open holds may still release
 * more.
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

/** @returns the lowest of the figures that these funds have; Infinity for no fund */
export function leastIn(standings: readonly FundStanding[], figure: 'free' | 'unspent'): Microcredits {
  let least = Number.POSITIVE_INFINITY;
  for (const standing of standings) least = Math.min(least, standing[figure]);
  return least;
}

/** @returns the hold that a request would get at once, or null if it would have to wait or could not be paid */
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
