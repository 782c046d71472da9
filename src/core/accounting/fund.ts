import type { WindowKind } from '../budget.ts';
import type { Microcredits } from '../credits.ts';
import type { Reading } from '../reading.ts';

/** The name of a fund, and its window. */
export interface FundTitle {
  readonly kind: 'budget' | 'balance';
  /** Of the budget; for a balance the ID of its key, or the address of its holder. */
  readonly name: string;
  /** The value of the budget's `each`. Empty for a budget without `each` and for a balance. */
  readonly subject: string;
  /** The budget's conditions and window as text; see Budget. Empty for a balance. */
  readonly definition: string;
  /** The kind of a budget's windows; absent for a balance. */
  readonly window?: WindowKind;
  /** Milliseconds since 1970. */
  readonly starts: number;
  /** Milliseconds since 1970; Infinity for one that never ends. */
  readonly ends: number;
}

/** Names a fund as one text. A budget that a reload has changed is another fund. */
export const fundName = ({ kind, name, subject, starts, definition }: FundTitle): string =>
  `${kind} ${starts} ${subject} ${name} ${definition}`;

/** The name under which a fund is said to cap an output: the budget's, or `balance`. */
export const cappingName = ({ kind, name }: FundTitle): string => (kind === 'balance' ? 'balance' : name);

/** A fund as operations on the books name it. Made once and reused, because books may cache by identity. */
export interface FundRef {
  /** Made of what the fund is, so that all callers of the same books name it alike. */
  readonly key: string;
  readonly title: FundTitle;
  /** The generation of its budget, which the books made; 0 for a balance. */
  readonly budget: number;
  /**
   * The limit of a budget, microcredits, while no policy with the budget was put in force; then the books keep to that of the newest.
   * Unused for a balance: the books know what was granted.
   */
  readonly limit: Microcredits;
}

/** The key of the fund of a subject in a window of a budget. The generation stands for its name and definition. */
export const budgetKey = (generation: number, starts: number, subject: string): string =>
  `budget/${generation}/${starts}/${subject}`;

/** The limits of the windows of a budget: that of most subjects, and those of some. */
interface BudgetLimits {
  readonly limit: Microcredits;
  readonly limits?: ReadonlyMap<string, Microcredits>;
}

/** Returns the limit of a subject's windows. Without terms, and where subjects have limits but this one has none, it keeps `own`. */
export const limitFor = (terms: BudgetLimits | undefined, { subject }: FundTitle, own: Microcredits): Microcredits =>
  (terms?.limits ? terms.limits.get(subject) : terms?.limit) ?? own;

/** A reading of a fund: its figures at a moment, in microcredits, and its age. */
export type FundStanding = Reading & Readonly<Pick<Fund, 'title' | 'limit' | 'spent' | 'held' | 'free' | 'unspent'>>;

/**
 * Money that holds draw on: a budget's window or a balance. Only free money is held, so that `spent + held ≤ limit`
 * holds at every moment, unless the limit was lowered meanwhile.
 */
export class Fund implements FundStanding {
  readonly title: FundTitle;
  /** Who has the fund itself decides by it. */
  readonly ageMs = 0;
  /** Of a budget, its limit; of a balance, all that was ever granted or paid in, less fees. */
  limit: Microcredits;
  spent: Microcredits;
  held: Microcredits = 0;

  constructor(title: FundTitle, limit: Microcredits, spent: Microcredits) {
    this.title = title;
    this.limit = limit;
    this.spent = spent;
  }

  /** The sum that a new hold may take now. Below 0 after the limit was lowered. */
  get free(): Microcredits {
    return this.limit - this.spent - this.held;
  }
  /** The sum that will be free once every open hold is released. */
  get unspent(): Microcredits {
    return this.limit - this.spent;
  }
  /** A copy of the figures, because the fund keeps changing. */
  get standing(): FundStanding {
    const { title, limit, spent, held, free, unspent, ageMs } = this;
    return { title, limit, spent, held, free, unspent, ageMs };
  }
}

/** Why a hold is refused. */
export interface FundBlock<Of extends FundStanding = FundStanding> {
  readonly fund: Of;
  /** `exhausted`: the fund can never pay it; `contended`: open holds have the money. */
  readonly why: 'exhausted' | 'contended';
}

export const isBlocked = <Of extends FundStanding>(fit: Microcredits | FundBlock<Of>): fit is FundBlock<Of> =>
  typeof fit !== 'number';

/** A capped request takes half of what is free, and an eighth while others hold some: then more are likely to come. */
const PART_ALONE = 2;
const PART_IN_COMPANY = 8;

/**
 * Returns how much to reserve: the first amount, the choice's, or what is free, if that is less but not below `least`. The
 * other amounts are those of the fallbacks, for which a hold can be raised later. The greatest of them that all funds
 * have free twice is reserved: near the end of a fund, money held for a rare failover would keep other requests out.
 *
 * @param expected microcredits that a payment in progress will add to the balance. The balance need not have this part of an
 * amount, and an excess of it may cover a negative balance.
 * @param least microcredits; by default the first amount, which is then reserved whole or not at all
 * @param ample microcredits; where the first amount is not free, more than this is reserved only within the share below, so that
 * other requests find money, too. By default all that is free is reserved.
 */
export function fit<Of extends FundStanding>(
  funds: readonly Of[],
  amounts: readonly Microcredits[],
  expected: Microcredits = 0,
  least: Microcredits = amounts[0] ?? 0,
  ample: Microcredits = amounts[0] ?? 0,
): Microcredits | FundBlock<Of> {
  let free = Number.POSITIVE_INFINITY;
  let balance = Number.POSITIVE_INFINITY;
  for (let i = 0; i < funds.length; i++) {
    const fund = funds[i]!;
    if (expected > 0 && fund.title.kind === 'balance') balance = fund.free;
    else free = Math.min(free, fund.free);
  }
  const [first = 0] = amounts;
  if (first > free || first - expected > balance) {
    const most = Math.min(free, balance + expected);
    if (most < least) return blockedBy(funds, least, expected);
    const part = funds.some(({ held }) => held > 0) ? PART_IN_COMPANY : PART_ALONE;
    return Math.max(least, Math.min(most, ample), Math.floor(most / part));
  }
  let most = first;
  for (let i = 1; i < amounts.length; i++) {
    const more = amounts[i]!;
    const beside = more - expected;
    const hasRoom = beside <= balance && beside * 2 <= Math.max(0, balance);
    if (more > most && more * 2 <= free && hasRoom) most = more;
  }
  return most;
}

/** Returns the part of an amount that a fund must have itself; negative if it may lack so much. */
const needOf = ({ title }: FundStanding, amount: Microcredits, expected: Microcredits): Microcredits =>
  expected > 0 && title.kind === 'balance' ? amount - expected : amount;

/** Returns the first fund that can never pay, else the first that lacks the money now. */
function blockedBy<Of extends FundStanding>(
  funds: readonly Of[],
  amount: Microcredits,
  expected: Microcredits,
): FundBlock<Of> {
  const exhausted = funds.find((fund) => needOf(fund, amount, expected) > fund.unspent);
  if (exhausted) return { fund: exhausted, why: 'exhausted' };
  return { fund: funds.find((fund) => needOf(fund, amount, expected) > fund.free)!, why: 'contended' };
}

/** Sets money aside in every fund; in a balance without the expected part. */
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
