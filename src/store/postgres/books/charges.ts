import { quarterOf, type Window } from '../../../core/accounting/window.ts';
import type { EntryOwner } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { CountPosition, EndpointCharges, UncountedCharges, UsageFilter } from '../../books.ts';
import { ownersSearch, type UsageRow, usageIn, usageSearch } from '../../sql/usage.ts';
import { arrayOf } from '../connection.ts';
import type { Horizon } from '../horizon.ts';
import type { BooksQuery } from './names.ts';

/** The largest value of the column for quarters of an hour, which is greater than the number of any quarter. */
const QUARTERS_MAX = 2_147_483_647;
/** How many journal numbers `COUNT_SINCE` may read again before it stores that they are counted. */
const LOOKED_AT = 1_000;

const ACCOUNT = `a.key_id AS "keyId", a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user"`;
const SELECT_CHARGED = `SELECT f.charged + coalesce((SELECT sum(u.microcredits) FROM unfolded AS u), 0) AS charged FROM folded AS f`;
const SELECT_SPENT = `SELECT coalesce(sum(s.microcredits), 0) AS spent FROM accounts AS a JOIN spending AS s ON s.account = a.id
    WHERE a.key_id = $1 AND s.quarter >= $2 AND s.quarter < $3`;

const SELECT_POSITION = 'SELECT through, subjects FROM counted WHERE budget = $1';
const SELECT_SUBJECTS = 'SELECT subject FROM counted_subjects WHERE budget = $1 AND subject = ANY ($2::text[])';
/**
 * The query for a budget that has not been counted yet: no hold has drawn on the budget, so all charges count. The stored sums may include
 * entries after the requested entry, so the result says up to which entry it counts.
 */
const SELECT_ALL = `SELECT ${ACCOUNT}, s.quarter, sum(s.microcredits) AS microcredits,
      (SELECT greatest($1::bigint, f.through) FROM folded AS f) AS "to"
    FROM (
      SELECT account, quarter, microcredits FROM spend WHERE quarter >= $2
      UNION ALL SELECT account, quarter, microcredits FROM unfolded WHERE seq <= $1 AND quarter >= $2
    ) AS s JOIN accounts AS a ON a.id = s.account GROUP BY a.id, s.quarter`;
/** Selects the charges in the entries after `$1`, up to an entry, that did not draw on the budget `$3`. */
const sinceUpTo = (
  to: string,
) => `SELECT j.account, ((j.reservation / 8192 + 1767225600000) / 900000)::integer AS quarter, j.amount AS microcredits
      FROM journal AS j WHERE j.seq > $1 AND j.seq <= ${to} AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0
        AND NOT EXISTS (SELECT 1 FROM funds AS f WHERE f.id = ANY (j.drawn) AND f.budget = $3)`;
/**
 * Reads the charges up to `$2` that the budget has not counted. If there are no such charges, the statement stores that the budget is
 * counted up to `$2`, so the next read starts at `$2`.
 */
const COUNT_SINCE = `WITH since AS (
    SELECT ${ACCOUNT}, j.quarter, sum(j.microcredits) AS microcredits, $2::bigint AS "to"
      FROM (${sinceUpTo('$2')}) AS j JOIN accounts AS a ON a.id = j.account GROUP BY a.id, j.quarter
  ), moved AS (
    UPDATE counted SET through = $2 WHERE budget = $3 AND through = $1 AND $2 - $1 > ${LOOKED_AT} AND NOT EXISTS (SELECT 1 FROM since)
  ) SELECT * FROM since`;
/** Reads the same charges, and all charges of some owners from the quarter `$4` on, up to the same entry. */
const selectWithOwners = (
  owned: string,
) => `WITH goal AS (SELECT greatest($2::bigint, f.through) AS "to" FROM folded AS f)
  SELECT ${ACCOUNT}, c.quarter, c."isOfOwner", sum(c.microcredits) AS microcredits, (SELECT "to" FROM goal) AS "to"
    FROM (
      SELECT j.*, false AS "isOfOwner" FROM (${sinceUpTo('(SELECT "to" FROM goal)')}) AS j
      UNION ALL SELECT s.account, s.quarter, s.microcredits, true FROM accounts AS a JOIN (
          SELECT account, quarter, microcredits FROM spend
          UNION ALL SELECT account, quarter, microcredits FROM unfolded WHERE seq <= (SELECT "to" FROM goal)
        ) AS s ON s.account = a.id WHERE s.quarter >= $4 AND ${owned}
    ) AS c JOIN accounts AS a ON a.id = c.account GROUP BY a.id, c.quarter, c."isOfOwner"`;

type UncountedRow = Omit<AccountRow, 'payer'> & {
  readonly quarter: number;
  readonly microcredits: Microcredits;
  readonly to: number;
  readonly isOfOwner?: number;
};

/** @returns the charges of all entries minus refunds, microcredits */
export async function chargedBy(query: BooksQuery): Promise<Microcredits> {
  return (await query<{ charged: number }>(SELECT_CHARGED, []))[0]?.charged ?? 0;
}

/** @returns the amount that a key was charged for its holds of a window, minus refunds, microcredits */
export async function spentIn(query: BooksQuery, keyId: string, { starts, ends }: Window): Promise<Microcredits> {
  const end = Math.min(quarterOf(ends), QUARTERS_MAX);
  return (await query<{ spent: number }>(SELECT_SPENT, [keyId, quarterOf(starts), end]))[0]?.spent ?? 0;
}

/** @returns the charges of a period. Two elements of the result may belong to the same group, so the caller must add them up. */
export async function usageOf(query: BooksQuery, filter: UsageFilter): Promise<EndpointCharges[]> {
  const { text, first, end, owner } = usageSearch('spending', filter);
  const words = text
    .replaceAll(/\?(\d)/g, '$$$1')
    .replace('SELECT value FROM json_each($3)', 'SELECT json_array_elements_text($3::json)');
  return usageIn(filter, await query<UsageRow>(words, [first, Math.min(end, QUARTERS_MAX), ...owner]));
}

/**
 * Returns the charges that a budget has not counted: charges of holds that did not draw on it. If there are no such charges, the function
 * stores how far the budget is counted.
 * @param owners the owners whose charges in the window are read in full, up to the same entry
 */
export async function uncountedBy(
  query: BooksQuery,
  entries: Horizon<'entries'>,
  budget: number,
  { starts }: Window,
  owners: readonly EntryOwner[] = [],
): Promise<UncountedCharges> {
  // The position is read before the horizon, so that the horizon is never lower than the position.
  const from = (await query<CountPosition>(SELECT_POSITION, [budget]))[0] ?? null;
  const { entries: horizon } = await entries.fresh();
  const rows = await query<UncountedRow>(...searchFor(from, horizon, budget, quarterOf(starts), owners));
  const of = (isOfOwner: 0 | 1) =>
    rows
      .filter((row) => (row.isOfOwner ?? 0) === isOfOwner)
      .map(({ quarter, microcredits, to: _, isOfOwner: __, ...account }) => ({
        dimensions: dimensionsOf(account),
        microcredits,
        quarter,
      }));
  return { from, to: rows[0]?.to ?? horizon, charges: of(0), ofOwners: of(1) };
}

/** Returns the statement that reads uncounted charges, with its values. */
function searchFor(
  from: CountPosition | null,
  horizon: number,
  budget: number,
  first: number,
  owners: readonly EntryOwner[],
): [text: string, values: (string | number)[]] {
  if (from === null) return [SELECT_ALL, [horizon, first]];
  const since = [from.through, horizon, budget];
  if (owners.length === 0) return [COUNT_SINCE, since];
  const { column, ids } = ownersSearch(owners);
  if (column === null) return [selectWithOwners('true'), [...since, first]];
  return [selectWithOwners(`a.${column} = ANY ($5::text[])`), [...since, first, arrayOf(ids)]];
}

/** @returns the given subjects that a budget counts */
export async function countedOf(
  query: BooksQuery,
  budget: number,
  subjects: readonly string[],
): Promise<ReadonlySet<string>> {
  if (subjects.length === 0) return new Set();
  const rows = await query<{ subject: string }>(SELECT_SUBJECTS, [budget, arrayOf(subjects)]);
  return new Set(rows.map(({ subject }) => subject));
}
