import type { Microcredits } from '../core/credits.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { FundBlock, FundStanding } from './rules/fund.ts';

/** Why a request cannot be paid for, with the fund that is in the way as it stands. Amounts are microcredits. */
export interface FundShortage {
  /** `exhausted`: it could never be paid; `contended`: open reservations hold what it needs. */
  readonly why: FundBlock['why'];
  readonly kind: 'budget' | 'balance';
  /** Of the budget, or ID of the key, or address of the wallet. */
  readonly name: string;
  readonly subject: string;
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
  /** What the request could cost. */
  readonly needed: Microcredits;
  /** When the fund's next window begins, ms since 1970; null for never. */
  readonly renewsAt: number | null;
}

/** What the funds of a caller allow at this moment. */
export interface AvailableFunds {
  /** What funds with `on_exhausted: downgrade` have free now; null without such a fund. */
  readonly free: Microcredits | null;
  /** The same, once all open reservations are released. */
  readonly unspent: Microcredits | null;
  /** What all funds have free now: so much needs to wait for nothing. */
  readonly room: Microcredits;
  /** The fund that can never pay so much; null when all can. */
  shortFor(amount: Microcredits): FundShortage | null;
}

/** @param standings the figures of `funds`, in their order */
export function standingOf(funds: readonly DrawnFund[], standings: readonly FundStanding[]): AvailableFunds {
  const downgrading = standings.filter((_, at) => funds[at]!.downgrades);
  const least = (amounts: readonly Microcredits[]) => (amounts.length === 0 ? null : Math.min(...amounts));
  return {
    free: least(downgrading.map(({ free }) => free)),
    unspent: least(downgrading.map(({ unspent }) => unspent)),
    room: Math.min(...standings.map(({ free }) => free)),
    shortFor: (amount) => {
      const fund = standings.find(({ unspent }) => amount > unspent);
      return fund ? shortage({ fund, why: 'exhausted' }, amount) : null;
    },
  };
}

export function shortage({ fund, why }: FundBlock, needed: Microcredits): FundShortage {
  const { kind, name, subject, ends } = fund.title;
  const { limit, spent, held } = fund;
  return { why, kind, name, subject, limit, spent, held, needed, renewsAt: Number.isFinite(ends) ? ends : null };
}

/** Whether there was no room, rather than a hold. */
export const isShortage = <T extends object>(reserved: T | FundShortage): reserved is FundShortage => 'why' in reserved;
