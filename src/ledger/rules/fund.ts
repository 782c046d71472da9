import type { Microcredits } from '../../core/credits.ts';

/** The name of a fund, and when it counts. */
export interface FundTitle {
  readonly kind: 'budget' | 'balance';
  /** Of the budget; for a balance the ID of its key, or the address of its wallet. */
  readonly name: string;
  /** The value of the budget's `each`. Empty for a fund of everyone's and for a balance. */
  readonly subject: string;
  /** The budget's conditions and window as text; see Budget. Empty for a balance. */
  readonly definition: string;
  /** Milliseconds since 1970. */
  readonly starts: number;
  /** Milliseconds since 1970; Infinity for one that never ends. */
  readonly ends: number;
}

/** A fund as operations on the books name it. Made once and reused: books may remember it by identity. */
export interface FundRef {
  /** Unique among all funds. A budget that is counted anew gets new ones. */
  readonly key: string;
  readonly title: FundTitle;
  /** Of a budget, microcredits. A balance has no limit of its own: books know what was granted. */
  readonly limit: Microcredits;
  /** Microcredits that were spent of it before an operation named it first. */
  readonly opening: Microcredits;
}

/** The figures of a fund at a moment, in microcredits. */
export interface FundStanding {
  readonly title: FundTitle;
  /** Of a budget, its limit; of a balance, all that was ever granted or paid in, less fees. */
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
  /** The sum that a new reservation may take now. Below 0 after the limit was lowered. */
  readonly free: Microcredits;
  /** The sum that will be free once every open reservation is released. */
  readonly unspent: Microcredits;
}

/**
 * Money that reservations draw on: a budget's window or a balance. Money is free before it is held or
 * spent, so that `spent + held ≤ limit` holds at every moment, but for a limit that was lowered meanwhile.
 */
export class Fund implements FundStanding {
  readonly title: FundTitle;
  limit: Microcredits;
  spent: Microcredits;
  held: Microcredits = 0;

  constructor(title: FundTitle, limit: Microcredits, spent: Microcredits) {
    this.title = title;
    this.limit = limit;
    this.spent = spent;
  }

  get free(): Microcredits {
    return this.limit - this.spent - this.held;
  }
  get unspent(): Microcredits {
    return this.limit - this.spent;
  }
}

/** Why a reservation is refused. */
export interface FundBlock<Of extends FundStanding = FundStanding> {
  readonly fund: Of;
  /** `exhausted`: it could never be had; `contended`: open reservations are in the way. */
  readonly why: 'exhausted' | 'contended';
}

export const isBlocked = <Of extends FundStanding>(fit: Microcredits | FundBlock<Of>): fit is FundBlock<Of> =>
  typeof fit !== 'number';

/**
 * Returns how much to reserve: at least the first amount, which is the choice's. The others are those of its fallbacks,
 * for which a reservation can be raised when they are tried: so the greatest of them is reserved, but only of what all
 * funds have free twice. Near the end of a fund, money held for a rare failover would keep others out.
 *
 * @param expected microcredits that a payment under way will add to the balance: the balance need not
 * have that part of an amount. An excess of it may make good a balance below 0.
 */
export function fit<Of extends FundStanding>(
  funds: readonly Of[],
  amounts: readonly Microcredits[],
  expected: Microcredits = 0,
): Microcredits | FundBlock<Of> {
  let free = Number.POSITIVE_INFINITY;
  let balance = Number.POSITIVE_INFINITY;
  for (let i = 0; i < funds.length; i++) {
    const fund = funds[i]!;
    if (expected > 0 && fund.title.kind === 'balance') balance = fund.free;
    else free = Math.min(free, fund.free);
  }
  const [least = 0] = amounts;
  if (least > free || least - expected > balance) return blockedBy(funds, least, expected);
  let most = least;
  for (let i = 1; i < amounts.length; i++) {
    const more = amounts[i]!;
    const beside = more - expected;
    const hasRoom = beside <= balance && beside * 2 <= Math.max(0, balance);
    if (more > most && more * 2 <= free && hasRoom) most = more;
  }
  return most;
}

/** The part of an amount that a fund must have itself; below 0 for a part that it may lack. */
const needOf = ({ title }: FundStanding, amount: Microcredits, expected: Microcredits): Microcredits =>
  expected > 0 && title.kind === 'balance' ? amount - expected : amount;

/** The fund that is in the way: one that can never pay before one that may, and of several the first. */
function blockedBy<Of extends FundStanding>(
  funds: readonly Of[],
  amount: Microcredits,
  expected: Microcredits,
): FundBlock<Of> {
  const exhausted = funds.find((fund) => needOf(fund, amount, expected) > fund.unspent);
  if (exhausted) return { fund: exhausted, why: 'exhausted' };
  return { fund: funds.find((fund) => needOf(fund, amount, expected) > fund.free)!, why: 'contended' };
}

/** Sets money aside in every fund; in a balance only what is not expected to come in. */
export function hold(funds: readonly Fund[], amount: Microcredits, expected: Microcredits = 0): void {
  for (let i = 0; i < funds.length; i++) funds[i]!.held += Math.max(0, needOf(funds[i]!, amount, expected));
}

/** Gives back money that was set aside. */
export function release(funds: readonly Fund[], amount: Microcredits, expected: Microcredits = 0): void {
  for (let i = 0; i < funds.length; i++) funds[i]!.held -= Math.max(0, needOf(funds[i]!, amount, expected));
}

/** Turns money that was set aside into money spent. */
export function spend(funds: readonly Fund[], amount: Microcredits): void {
  for (let i = 0; i < funds.length; i++) {
    const fund = funds[i]!;
    fund.held -= amount;
    fund.spent += amount;
  }
}
