import type { Microcredits } from '../core/credits.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { FundBlock, FundStanding, FundTitle } from './rules/fund.ts';

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
  /** The free money of funds with `on_exhausted: downgrade`; null without such a fund. */
  readonly free: Microcredits | null;
  /** The same money once all open reservations are released. */
  readonly unspent: Microcredits | null;
  /** The free money of all funds. A request of at most this amount does not wait. */
  readonly room: Microcredits;
  /** Returns the shortage of the fund that can never pay the amount; null when all can. */
  shortFor(amount: Microcredits): FundShortage | null;
}

/** @param standings the figures of `funds`, in their order */
export function standingOf(funds: readonly DrawnFund[], standings: readonly FundStanding[]): AvailableFunds {
  const downgrading = standings.filter((_, at) => funds[at]!.onExhausted === 'downgrade');
  const least = (amounts: readonly Microcredits[]) => (amounts.length === 0 ? null : Math.min(...amounts));
  return {
    free: least(downgrading.map(({ free }) => free)),
    unspent: least(downgrading.map(({ unspent }) => unspent)),
    room: Math.min(...standings.map(({ free }) => free)),
    shortFor: (amount) => {
      // A renewal helps with a spent fund, and never with a limit that is too low.
      const fund =
        standings.find(({ limit, title }) => title.kind === 'budget' && amount > limit) ??
        standings.find(({ unspent }) => amount > unspent);
      return fund ? shortage({ fund, why: 'exhausted' }, amount) : null;
    },
  };
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
