import type { WindowKind } from '../money/budget.ts';
import type { Microcredits } from '../money/credits.ts';
import type { Reading } from '../reading.ts';

/** The name of a fund, and its window. */
export interface FundTitle {
  readonly kind: 'budget' | 'balance';
  /** The name of the budget. For a balance, `name` is the ID of its key or the address of its wallet. */
  readonly name: string;
  /** The value of the budget's `each`. `subject` is empty for a budget without `each` and for a balance. */
  readonly subject: string;
  /** The budget's conditions and window as text; see `Budget.definition`. `definition` is empty for a balance. */
  readonly definition: string;
  /** The kind of the budget's windows; absent for a balance. */
  readonly window?: WindowKind;
  /** Start of the window, ms since 1970. */
  readonly starts: number;
  /** End of the window, ms since 1970; Infinity if it never ends. */
  readonly ends: number;
}

/** Names a fund with one text. A budget whose definition a reload changes gets another name, and so becomes another fund. */
export const fundName = ({ kind, name, subject, starts, definition }: FundTitle): string =>
  `${kind} ${starts} ${subject} ${name} ${definition}`;

/** The name that callers see for a fund that caps an output: the budget's name, or `balance`. */
export const cappingName = ({ kind, name }: FundTitle): string => (kind === 'balance' ? 'balance' : name);

/** A fund as operations on the ledger name it. Create each fund reference once, because the ledger may cache it by identity. */
export interface FundRef {
  /** The key is derived only from the fund's identity, so that all servers that share a ledger use the same key. */
  readonly key: string;
  readonly title: FundTitle;
  /** The generation of the budget, which the ledger assigns; 0 for a balance. */
  readonly budget: number;
  /**
   * The limit of a budget in microcredits. The ledger uses it until a policy with the budget becomes active, and then the limit in the
   * newest policy. `limit` is unused for a balance, whose limit the ledger stores.
   */
  readonly limit: Microcredits;
}

/** Returns the key of a subject's fund in one window of a budget. The generation identifies the budget's name and definition. */
export const budgetKey = (generation: number, starts: number, subject: string): string =>
  `budget/${generation}/${starts}/${subject}`;

/** The limits of a budget's windows: the general limit, and the limits of individual subjects. */
interface BudgetLimits {
  readonly limit: Microcredits;
  readonly limits?: ReadonlyMap<string, Microcredits>;
}

/**
 * Returns the limit of a subject's windows. The limit is `own` if no terms are known, or if other subjects have limits and this subject has
 * none.
 */
export const limitFor = (terms: BudgetLimits | undefined, { subject }: FundTitle, own: Microcredits): Microcredits =>
  (terms?.limits ? terms.limits.get(subject) : terms?.limit) ?? own;

/** A reading of a fund: its figures in microcredits, and the age of the reading. */
export type FundStanding = Reading & Readonly<Pick<Fund, 'title' | 'limit' | 'spent' | 'held' | 'free' | 'unspent'>>;

/**
 * Money that holds draw on: a budget's window or a balance. A hold takes only free money, so `spent + held ≤ limit` is always true, except
 * after the limit was lowered.
 */
export class Fund implements FundStanding {
  readonly title: FundTitle;
  /** The object is the fund itself and no copy, so its figures are always current. */
  readonly ageMs = 0;
  /** For a budget, `limit` is the budget's limit. For a balance, `limit` is the sum of all grants and payments, less fees. */
  limit: Microcredits;
  spent: Microcredits;
  held: Microcredits = 0;

  constructor(title: FundTitle, limit: Microcredits, spent: Microcredits) {
    this.title = title;
    this.limit = limit;
    this.spent = spent;
  }

  /** The amount that a new hold may take now. `free` is below 0 after the limit was lowered below the sum of spent and held money. */
  get free(): Microcredits {
    return this.limit - this.spent - this.held;
  }
  /** The amount that will be free once every open hold is released. */
  get unspent(): Microcredits {
    return this.limit - this.spent;
  }
  /** A copy of the figures, because the fund keeps changing. */
  get standing(): FundStanding {
    const { title, limit, spent, held, free, unspent, ageMs } = this;
    return { title, limit, spent, held, free, unspent, ageMs };
  }
}

/** The reason why a hold is refused. */
export interface FundBlock<Of extends FundStanding = FundStanding> {
  readonly fund: Of;
  /** `exhausted`: the fund can never pay this amount. `contended`: open holds have the money now. */
  readonly why: 'exhausted' | 'contended';
}

export const isBlocked = <Of extends FundStanding>(fit: Microcredits | FundBlock<Of>): fit is FundBlock<Of> =>
  typeof fit !== 'number';

/**
 * A capped request takes half of the free money, or an eighth while other requests hold money, because more requests are then likely to
 * come.
 */
const PART_ALONE = 2;
const PART_IN_COMPANY = 8;

/**
 * Returns how much money to reserve: the first amount, which is the choice's worst case, or the free money if that is less, but at least
 * `least`. The amounts after the first are worst cases of fallbacks. `fit` returns the largest amount instead if every fund has twice that
 * amount free. If a fund has less free money, the hold is raised only when a fallback is used, so that near the end of a fund a rare
 * failover does not keep other requests out.
 *
 * @param expected microcredits that a payment in progress will add to the balance. The balance need not have the expected part of an
 * amount. An expected sum above the amount may offset a negative balance.
 * @param least microcredits; default: the first amount, which is then reserved in full or not at all
 * @param ample microcredits; if the first amount is not free, a hold above `ample` takes at most a share of the free money, so that other
 * requests also find money. Without `ample`, a hold may reserve all free money.
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

/** Returns the part of an amount that the fund itself must have; negative if the expected payment exceeds the amount. */
const needOf = ({ title }: FundStanding, amount: Microcredits, expected: Microcredits): Microcredits =>
  expected > 0 && title.kind === 'balance' ? amount - expected : amount;

/** Returns the first fund that can never pay the amount; otherwise the first fund that lacks the money now. */
function blockedBy<Of extends FundStanding>(
  funds: readonly Of[],
  amount: Microcredits,
  expected: Microcredits,
): FundBlock<Of> {
  const exhausted = funds.find((fund) => needOf(fund, amount, expected) > fund.unspent);
  if (exhausted) return { fund: exhausted, why: 'exhausted' };
  return { fund: funds.find((fund) => needOf(fund, amount, expected) > fund.free)!, why: 'contended' };
}

/** Reserves an amount of money in every fund of a hold. A balance reserves the amount less the expected payment. */
export function hold(funds: readonly Fund[], amount: Microcredits, expected: Microcredits = 0): void {
  for (let i = 0; i < funds.length; i++) funds[i]!.held += Math.max(0, needOf(funds[i]!, amount, expected));
}

/** Releases reserved money in every fund of a hold. */
export function release(funds: readonly Fund[], amount: Microcredits, expected: Microcredits = 0): void {
  for (let i = 0; i < funds.length; i++) funds[i]!.held -= Math.max(0, needOf(funds[i]!, amount, expected));
}

/** Turns reserved money of a hold into spent money. */
export function spend(funds: readonly Fund[], amount: Microcredits): void {
  for (let i = 0; i < funds.length; i++) {
    const fund = funds[i]!;
    fund.held -= amount;
    fund.spent += amount;
  }
}

/** Orders the limits of a budget: by the rank of their policy, then by the moment for which they hold. */
interface LimitsOrder {
  readonly rank: number;
  readonly at: number;
}

/** Whether limits are older than other limits of the same budget. */
export const isSuperseded = (one: LimitsOrder, by: LimitsOrder): boolean =>
  one.rank < by.rank || (one.rank === by.rank && one.at < by.at);
