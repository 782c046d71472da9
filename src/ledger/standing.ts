import type { Microcredits } from '../core/credits.ts';
import type { FundCap, FundFacts } from '../core/facts.ts';
import type { DrawnFund } from './drawn-fund.ts';
import { type FirstHold, firstHoldOf, type HoldTerms } from './first-hold.ts';
import { cappingName, type FundBlock, type FundStanding, type FundTitle } from './rules/fund.ts';

/** The reason why a request cannot be paid: the fund that lacks money, and its figures. Amounts are microcredits. */
export interface FundShortage
  extends Pick<FundBlock, 'why'>,
    Pick<FundTitle, 'kind' | 'name' | 'subject' | 'window'>,
    Pick<FundStanding, 'limit' | 'spent' | 'held'> {
  /** The greatest cost of the request. */
  readonly needed: Microcredits;
  /** When the fund's next window begins, ms since 1970; null for never. */
  readonly renewsAt: number | null;
}

/** The money that a caller's funds have available at a moment, in microcredits. */
export interface AvailableFunds {
  /** The terms to decide on, one after the other while no model fits. */
  readonly terms: readonly [FundFacts, ...FundFacts[]];
  /** The free money of all funds. A request of at most this amount does not wait. */
  readonly room: Microcredits;
  /** Returns the hold that a request would get at once; null where it would wait, or could not be paid. */
  firstHold(terms: HoldTerms): FirstHold | null;
  /** Returns the shortage of the fund that can never pay the amount; null when all can. */
  shortFor(amount: Microcredits): FundShortage | null;
}

/**
 * @param standings the figures of `funds`, in their order
 * @param mayCap whether outputs may be capped at all
 */
export function standingOf(
  funds: readonly DrawnFund[],
  standings: readonly FundStanding[],
  mayCap: boolean,
): AvailableFunds {
  return {
    terms: termsOf(funds, standings, mayCap),
    room: Math.min(...standings.map(({ free }) => free)),
    firstHold: (terms) => firstHoldOf(terms, funds, standings),
    shortFor: (amount) => {
      // A renewal helps with a spent fund, and never with a limit that is too low.
      const fund =
        standings.find(({ limit, title }) => title.kind === 'budget' && amount > limit) ??
        standings.find(({ unspent }) => amount > unspent);
      return fund ? shortage({ fund, why: 'exhausted' }, amount) : null;
    },
  };
}

/** Funds that downgrade choose among what fits now, then among what will fit; where nothing does, they cap as the others do. */
function termsOf(
  funds: readonly DrawnFund[],
  standings: readonly FundStanding[],
  mayCap: boolean,
): AvailableFunds['terms'] {
  const downgrading = standings.filter((_, at) => funds[at]!.onExhausted === 'downgrade');
  const capping = mayCap ? standings.filter((_, at) => funds[at]!.onExhausted === 'cap') : [];
  const cap = capOf(capping);
  if (downgrading.length === 0) return [within(null, cap)];
  const free = leastOf(downgrading, 'free');
  const unspent = leastOf(downgrading, 'unspent');
  const later = free === unspent ? [] : [within(unspent, cap)];
  const last = mayCap ? [within(null, capOf(standings.filter((_, at) => funds[at]!.onExhausted !== 'reject')))] : [];
  return [within(free, cap), ...later, ...last];
}

const within = (free: Microcredits | null, cap: FundCap | null): FundFacts => (cap === null ? { free } : { free, cap });

const leastOf = (standings: readonly FundStanding[], figure: 'free' | 'unspent'): Microcredits =>
  standings.reduce((least, standing) => Math.min(least, standing[figure]), Number.POSITIVE_INFINITY);

function capOf(standings: readonly FundStanding[]): FundCap | null {
  if (standings.length === 0) return null;
  const { title, unspent } = standings.reduce((least, one) => (one.unspent < least.unspent ? one : least));
  return { by: cappingName(title), unspent };
}

export function shortage({ fund, why }: FundBlock, needed: Microcredits): FundShortage {
  const { kind, name, subject, window, ends } = fund.title;
  const { limit, spent, held } = fund;
  return {
    why,
    kind,
    name,
    subject,
    window,
    limit,
    spent,
    held,
    needed,
    renewsAt: Number.isFinite(ends) ? ends : null,
  };
}

/** Whether a reservation ended in a shortage, not in a hold. */
export const isShortage = <T extends object>(reserved: T | FundShortage): reserved is FundShortage => 'why' in reserved;
