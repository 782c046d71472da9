import type { FundStanding } from '../../../core/accounting/fund.ts';
import { refuse } from '../../../core/errors.ts';
import { parseJson } from '../../../core/json/object.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isUsedUp, runsOutAt } from '../../../ledger/forecast.ts';
import type { FundHolds } from '../../../ledger/open-holds.ts';
import type { FundRefusal } from '../../../ledger/refusals.ts';
import { pageOfList } from '../pages.ts';

/** A window of a budget, or a balance, with the running requests that hold Credits of it. */
export interface FundUse extends Pick<FundStanding, 'title' | 'limit' | 'spent' | 'held'> {
  readonly holds: FundHolds;
  /** Microcredits charged in the last 24 hours; null if not known. */
  readonly recent: Microcredits | null;
  /** Why the fund refuses requests although it is not used up; null if it pays for requests, or if it is not known. */
  readonly refusal: FundRefusal | null;
  /** The current name of the key, team or user whose ID is `subject`; null if there is none, or if the caller may not see it. */
  readonly subjectName?: string | null;
  /** The kind of `subject`, if it is the ID of a key, team or user; null if it is none, or if that is not known. */
  readonly subjectKind?: 'key' | 'team' | 'user' | null;
  /** The need of a short request, microcredits, if it is more than the limit, so that no usual request fits; null if requests fit. */
  readonly leastRequest?: Microcredits | null;
  /** The name of the key that has the balance; null if there is none, or if the caller may not see it. */
  readonly keyName?: string | null;
}

/** The most funds on a page. */
export const FUNDS_MAX = 1_000;

/** The page of funds that a caller requests. */
export interface FundPage {
  readonly limit: number;
  /** The cursor from the previous page; null for the first page. */
  readonly after: string | null;
}

/** The position of a fund in the list: when it runs out (0 for a budget that is used up, refuses requests or fits none), how full it is, and its names. */
type Rank = readonly [runsOutAt: number, usedShare: number, kind: string, name: string, subject: string];

interface RankedFund {
  readonly use: FundUse;
  readonly rank: Rank;
}

const usedShare = ({ spent, held, limit }: FundUse): number => (spent + held) / Math.max(1, limit);

function rankOf(use: FundUse, now: number): Rank {
  const { kind, name, subject } = use.title;
  const isOver =
    (kind === 'budget' && isUsedUp(use.spent, use.limit)) || use.refusal !== null || use.leastRequest != null;
  return [
    isOver ? 0 : (runsOutAt(use.spent, use.limit, use.title, now, use.recent) ?? Number.MAX_VALUE),
    usedShare(use),
    kind,
    name,
    subject,
  ];
}

/** Sorts funds: budgets that are used up or fit no request, and funds that refuse requests, come first, then the fund that runs out first; the others follow, the fullest first. */
function compareRanks(a: Rank, b: Rank): number {
  if (a[0] !== b[0]) return a[0] - b[0];
  if (a[1] !== b[1]) return b[1] - a[1];
  for (const at of [2, 3, 4] as const) if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
  return 0;
}

const ranked = (funds: readonly FundUse[], now: number): RankedFund[] =>
  funds.map((use) => ({ use, rank: rankOf(use, now) })).sort((a, b) => compareRanks(a.rank, b.rank));

/**
 * Returns a page of the funds. The cursor contains the time of the first page, so that all pages use the same forecasts.
 * @param now ms since 1970
 * @throws SignalboxError `invalid_value` for a cursor that no page returned
 */
export function pageOfFunds<Body>(
  all: readonly FundUse[],
  { limit, after }: FundPage,
  now: number,
  bodyOf: (use: FundUse) => Body,
) {
  const place = after === null ? null : placeIn(after);
  const moment = place?.moment ?? now;
  const funds = ranked(all, moment);
  const start = place ? startBehind(funds, place) : 0;
  const { rows, data, hasMore } = pageOfList(funds.slice(start), limit, ({ use }) => bodyOf(use));
  const nextAfter = hasMore ? cursorOf(funds, start + rows.length - 1, moment) : null;
  return { funds: data, hasMore, nextAfter };
}

/**
 * A position in the list: after some number of funds with the same rank. Reports show names instead of IDs, so that several funds can have
 * the same rank.
 */
interface Place {
  readonly moment: number;
  readonly rank: Rank;
  readonly count: number;
}

function startBehind(funds: readonly RankedFund[], { rank, count }: Place): number {
  const first = funds.findIndex((one) => compareRanks(one.rank, rank) >= 0);
  if (first < 0) return funds.length;
  let start = first;
  while (start < funds.length && start - first < count && compareRanks(funds[start]!.rank, rank) === 0) start++;
  return start;
}

function cursorOf(funds: readonly RankedFund[], last: number, moment: number): string {
  const { rank } = funds[last]!;
  let count = 1;
  while (count <= last && compareRanks(funds[last - count]!.rank, rank) === 0) count++;
  return Buffer.from(JSON.stringify([moment, count, ...rank])).toString('base64url');
}

function placeIn(cursor: string): Place {
  const place: unknown = parseJson(Buffer.from(cursor, 'base64url').toString());
  if (Array.isArray(place) && place.length === 7) {
    const [moment, count, runsOut, share, kind, name, subject]: unknown[] = place;
    const isTexts = typeof kind === 'string' && typeof name === 'string' && typeof subject === 'string';
    const isFigures =
      typeof moment === 'number' &&
      typeof count === 'number' &&
      typeof runsOut === 'number' &&
      typeof share === 'number';
    if (isTexts && isFigures) return { moment, count, rank: [runsOut, share, kind, name, subject] };
  }
  refuse('after', '`after` must be the `next_after` of the previous page.');
}
