import type { Microcredits } from '../../core/credits.ts';

/** What a fund is called and when it counts. */
export interface FundTitle {
  readonly kind: 'budget' | 'balance';
  /** Of the budget; for a balance the ID of its key, or the address of its wallet. */
  readonly name: string;
  /** Whose share of the budget it is: what `each` gave. Empty for everyone's and for a balance. */
  readonly subject: string;
  /** What the budget counts, as text; see Budget. Empty for a balance. */
  readonly definition: string;
  /** Milliseconds since 1970. */
  readonly starts: number;
  /** Infinity for one that never ends. */
  readonly ends: number;
}

/** How a fund treats those who draw on it. */
export interface FundTerms {
  /** Of a budget, its limit; of a balance, all that was ever granted or paid in, less fees. */
  readonly limit: Microcredits;
  readonly onExhausted: 'reject' | 'downgrade';
  /** Fractions of the limit, ascending. */
  readonly alertAt: readonly number[];
}

/**
 * Money that reservations draw on: a budget's window or a balance. Whatever is held or spent was free
 * before, so that `spent + held ≤ limit` holds at every moment, but for a limit that was lowered meanwhile.
 */
export class Fund {
  readonly title: FundTitle;
  /** Of the row that names it in the store; 0 while it has none. */
  rowId = 0;
  spent: Microcredits;
  held: Microcredits = 0;
  #terms: FundTerms;
  /** The greatest fraction that was told; 0 for none. */
  #told = 0;

  constructor(title: FundTitle, terms: FundTerms, spent: Microcredits) {
    this.title = title;
    this.spent = spent;
    this.#terms = terms;
    // What was spent before is no news.
    this.alert();
  }

  get limit(): Microcredits {
    return this.#terms.limit;
  }
  get downgrades(): boolean {
    return this.#terms.onExhausted === 'downgrade';
  }
  /** What a new reservation may take now. Below 0 after the limit was lowered. */
  get free(): Microcredits {
    return this.#terms.limit - this.spent - this.held;
  }
  /** What will be free once every open reservation is released. */
  get unspent(): Microcredits {
    return this.#terms.limit - this.spent;
  }

  /** New terms; what was spent and is held stays. Returns whether the limit is another, which needs a row of its own. */
  change(terms: FundTerms): boolean {
    const changed = terms.limit !== this.#terms.limit;
    // What was told is not told again; what a lower limit has made true is, with the next charge.
    this.#terms = terms;
    return changed;
  }

  /** The greatest fraction of the limit that has been reached since the last call; null when none was. */
  alert(): number | null {
    const { alertAt, limit } = this.#terms;
    const reached = alertAt.findLast((fraction) => this.spent >= fraction * limit) ?? 0;
    if (reached <= this.#told) return null;
    this.#told = reached;
    return reached;
  }
}

/** Why a reservation cannot be had. */
export interface Blocked {
  readonly fund: Fund;
  /** `exhausted`: it could never be had; `contended`: open reservations are in the way. */
  readonly why: 'exhausted' | 'contended';
}

export const isBlocked = (fit: Microcredits | Blocked): fit is Blocked => typeof fit !== 'number';

/**
 * How much to reserve: at least the first amount, which is the choice's. The others are fallbacks', which can be
 * raised for when they are tried: so the greatest of them is reserved, but only of what all funds have free twice,
 * for near the end of a fund money that is held for what hardly ever happens would keep others out. `expected` is
 * what a payment under way will add to the balance: that much of an amount the balance need not have; what is expected
 * beyond the amount may make good a balance below 0.
 */
export function fit(
  funds: readonly Fund[],
  amounts: readonly Microcredits[],
  expected: Microcredits = 0,
): Microcredits | Blocked {
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

/** What of an amount a fund must have itself; below 0 for what it may lack. */
const needOf = ({ title }: Fund, amount: Microcredits, expected: Microcredits): Microcredits =>
  expected > 0 && title.kind === 'balance' ? amount - expected : amount;

/** The fund that is in the way: one that can never pay before one that may, and of several the first. */
function blockedBy(funds: readonly Fund[], amount: Microcredits, expected: Microcredits): Blocked {
  const exhausted = funds.find((fund) => needOf(fund, amount, expected) > fund.unspent);
  if (exhausted) return { fund: exhausted, why: 'exhausted' };
  return { fund: funds.find((fund) => needOf(fund, amount, expected) > fund.free)!, why: 'contended' };
}

/** Sets money aside in every fund; in a balance only what is not expected to come in. */
export function hold(funds: readonly Fund[], amount: Microcredits, expected: Microcredits = 0): void {
  for (let i = 0; i < funds.length; i++) funds[i]!.held += Math.max(0, needOf(funds[i]!, amount, expected));
}

/** Gives back what was set aside. */
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
