import { cappingName, type FundBlock, type FundStanding, type FundTitle } from '../core/accounting/fund.ts';
import type { ExhaustedAction } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { HolderKind } from '../core/people/caller.ts';
import type { FundCap, FundFacts } from '../core/request/facts.ts';
import type { DrawnFund } from './drawn-fund.ts';
import { type FirstHold, firstHoldOf, type HoldTerms, leastIn } from './first-hold.ts';
import { timeZoneOf } from './fund-words.ts';
import { levelOf } from './holder-budgets.ts';

/** Why a request cannot be paid: the fund that lacks money, with its figures in microcredits. */
export interface FundShortage
  extends Pick<FundBlock, 'why'>,
    Pick<FundTitle, 'kind' | 'name' | 'subject' | 'window'>,
    Pick<FundStanding, 'limit' | 'spent' | 'held'> {
  readonly title: FundTitle;
  /** The level that owns the budget; null for a balance and for a budget of the policy. */
  readonly level: HolderKind | null;
  /** The time zone of the budget's windows; null for a balance. */
  readonly timeZone: string | null;
  /** The highest cost that the request may have, microcredits. */
  readonly needed: Microcredits;
  /** When the fund's next window starts, ms since 1970; null if the fund has no next window. */
  readonly renewsAt: number | null;
}

/** The money that a caller has available now, microcredits. It does not change afterwards. */
export class AvailableFunds {
  /** The terms for the decision. If no model fits the first terms, the next terms apply. */
  readonly terms: readonly [FundFacts, ...FundFacts[]];
  /** The smallest amount that is free in any of the funds. A request that costs no more than this amount does not wait. */
  readonly room: Microcredits;
  readonly #funds: readonly DrawnFund[];
  readonly #standings: readonly FundStanding[];
  /** The actions of the funds that limit the choice by `terms`. */
  readonly #yielding: readonly ExhaustedAction[];

  /**
   * @param standings the figures of `funds`, in the same order
   * @param mayCap whether outputs may be capped at all
   */
  constructor(funds: readonly DrawnFund[], standings: readonly FundStanding[], mayCap: boolean) {
    this.terms = termsOf(funds, standings, mayCap);
    this.room = leastIn(standings, 'free');
    this.#funds = funds;
    this.#standings = standings;
    this.#yielding = mayCap ? YIELDING : DOWNGRADING;
  }

  /**
   * The terms for a request whose other models may be chosen instead, if no fund can pay for the first model: funds that neither cap nor
   * downgrade also limit the choice. Empty if there is no such fund.
   */
  get strictTerms(): readonly FundFacts[] {
    const strict = this.#standings.filter((_, i) => !this.#yielding.includes(this.#funds[i]!.onExhausted));
    if (strict.length === 0) return [];
    const unspent = leastIn(strict, 'unspent');
    return this.terms.map((terms) => ({ ...terms, free: Math.min(terms.free ?? unspent, unspent) }));
  }

  /** @returns the hold that a request would get at once, or null if it would have to wait or could not be paid */
  firstHold(terms: HoldTerms): FirstHold | null {
    return firstHoldOf(terms, this.#funds, this.#standings);
  }

  /** @returns the shortage of a fund that can never pay the amount, or null if all funds can pay */
  shortFor(amount: Microcredits): FundShortage | null {
    let spent: FundStanding | null = null;
    for (const fund of this.#standings) {
      // A fund whose limit is lower than the amount is reported first, because waiting for the fund's next window does not help.
      if (fund.title.kind === 'budget' && amount > fund.limit) return shortage({ fund, why: 'exhausted' }, amount);
      if (amount > fund.unspent) spent ??= fund;
    }
    return spent && shortage({ fund: spent, why: 'exhausted' }, amount);
  }
}

const CAPPING: readonly ExhaustedAction[] = ['cap'];
const DOWNGRADING: readonly ExhaustedAction[] = ['downgrade'];
const YIELDING: readonly ExhaustedAction[] = ['cap', 'downgrade'];

/**
 * If a fund has the action `downgrade`, there are up to three terms: first models that its free money can pay, then models that it can pay
 * once open holds have ended, then any model, with the output capped by this fund as well.
 */
function termsOf(
  funds: readonly DrawnFund[],
  standings: readonly FundStanding[],
  mayCap: boolean,
): AvailableFunds['terms'] {
  const cap = mayCap ? capOf(funds, standings, CAPPING) : null;
  let free: Microcredits | null = null;
  let unspent = Number.POSITIVE_INFINITY;
  for (let i = 0; i < funds.length; i++) {
    if (funds[i]!.onExhausted !== 'downgrade') continue;
    free = Math.min(free ?? Number.POSITIVE_INFINITY, standings[i]!.free);
    unspent = Math.min(unspent, standings[i]!.unspent);
  }
  const terms: [FundFacts, ...FundFacts[]] = [within(free, cap)];
  if (free === null) return terms;
  if (free !== unspent) terms.push(within(unspent, cap));
  if (mayCap) terms.push(within(null, capOf(funds, standings, YIELDING)));
  return terms;
}

const within = (free: Microcredits | null, cap: FundCap | null): FundFacts => (cap === null ? { free } : { free, cap });

/**
 * @returns the cap by the fund that has the least money left, among the funds with one of these actions; null if no fund has such an action
 */
function capOf(
  funds: readonly DrawnFund[],
  standings: readonly FundStanding[],
  actions: readonly ExhaustedAction[],
): FundCap | null {
  let least: FundStanding | null = null;
  for (let i = 0; i < funds.length; i++) {
    if (!actions.includes(funds[i]!.onExhausted)) continue;
    if (least === null || standings[i]!.unspent < least.unspent) least = standings[i]!;
  }
  return least && { by: cappingName(least.title), unspent: least.unspent };
}

export function shortage({ fund, why }: FundBlock, needed: Microcredits): FundShortage {
  const { kind, name, subject, window, ends, definition } = fund.title;
  const { limit, spent, held } = fund;
  return {
    title: fund.title,
    why,
    kind,
    name,
    subject,
    window,
    level: levelOf(definition),
    timeZone: timeZoneOf({ definition }),
    limit,
    spent,
    held,
    needed,
    renewsAt: Number.isFinite(ends) ? ends : null,
  };
}

/** True if the result is a shortage instead of a hold. */
export const isShortage = <T extends object>(reserved: T | FundShortage): reserved is FundShortage => 'why' in reserved;
