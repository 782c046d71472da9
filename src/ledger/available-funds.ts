import { cappingName, type FundBlock, type FundStanding, type FundTitle } from '../core/accounting/fund.ts';
import type { ExhaustedAction } from '../core/budget.ts';
import type { HolderKind } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import type { FundCap, FundFacts } from '../core/facts.ts';
import type { DrawnFund } from './drawn-fund.ts';
import { type FirstHold, firstHoldOf, type HoldTerms, leastIn } from './first-hold.ts';
import { levelOf } from './holder-budgets.ts';

/** The reason why a request cannot be paid: the fund that lacks money, and its figures. Amounts are microcredits. */
export interface FundShortage
  extends Pick<FundBlock, 'why'>,
    Pick<FundTitle, 'kind' | 'name' | 'subject' | 'window'>,
    Pick<FundStanding, 'limit' | 'spent' | 'held'> {
  /** The level whose budget it is; null for a balance, and for a budget of the policy. */
  readonly level: HolderKind | null;
  /** The greatest cost of the request. */
  readonly needed: Microcredits;
  /** When the fund's next window begins, ms since 1970; null for never. */
  readonly renewsAt: number | null;
}

/** The money that a caller's funds have available at a moment, in microcredits. */
export class AvailableFunds {
  /** The terms to decide on, one after the other while no model fits. */
  readonly terms: readonly [FundFacts, ...FundFacts[]];
  /** The free money of all funds. A request of at most this amount does not wait. */
  readonly room: Microcredits;
  readonly #funds: readonly DrawnFund[];
  readonly #standings: readonly FundStanding[];

  /**
   * @param standings the figures of `funds`, in their order
   * @param mayCap whether outputs may be capped at all
   */
  constructor(funds: readonly DrawnFund[], standings: readonly FundStanding[], mayCap: boolean) {
    this.terms = termsOf(funds, standings, mayCap);
    this.room = leastIn(standings, 'free');
    this.#funds = funds;
    this.#standings = standings;
  }

  /** Returns the hold that a request would get at once; null where it would wait, or could not be paid. */
  firstHold(terms: HoldTerms): FirstHold | null {
    return firstHoldOf(terms, this.#funds, this.#standings);
  }

  /** Returns the shortage of the fund that can never pay the amount; null when all can. */
  shortFor(amount: Microcredits): FundShortage | null {
    let spent: FundStanding | null = null;
    for (const fund of this.#standings) {
      // A renewal helps with a spent fund, and never with a limit that is too low.
      if (fund.title.kind === 'budget' && amount > fund.limit) return shortage({ fund, why: 'exhausted' }, amount);
      if (amount > fund.unspent) spent ??= fund;
    }
    return spent && shortage({ fund: spent, why: 'exhausted' }, amount);
  }
}

const CAPPING: readonly ExhaustedAction[] = ['cap'];
const YIELDING: readonly ExhaustedAction[] = ['cap', 'downgrade'];

/** Funds that downgrade choose among what fits now, then among what will fit; where nothing does, they cap as the others do. */
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

/** The cap by the fund that has the least left, of those that end by one of these actions; null for none. */
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
    why,
    kind,
    name,
    subject,
    window,
    level: levelOf(definition),
    limit,
    spent,
    held,
    needed,
    renewsAt: Number.isFinite(ends) ? ends : null,
  };
}

/** Whether there is a shortage in place of a hold. */
export const isShortage = <T extends object>(reserved: T | FundShortage): reserved is FundShortage => 'why' in reserved;
