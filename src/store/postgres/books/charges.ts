import { quarterOf, type Window } from '../../../core/accounting/window.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { EndpointCharges, UncountedCharges, UsageFilter } from '../../books.ts';
import { type UsageRow, usageIn, usageSearch } from '../../sql/usage.ts';
import type { Horizon } from '../horizon.ts';
import type { BooksQuery } from './names.ts';

/** Beyond any quarter of an hour. */
const QUARTERS_MAX = 2_147_483_647;
/** Numbers of entries that are looked at again. */
const LOOKED_AT = 1_000;

const ACCOUNT = `a.key_id AS "keyId", a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user"`;
const SELECT_CHARGED = `SELECT f.charged + coalesce((SELECT sum(u.microcredits) FROM unfolded AS u), 0) AS charged FROM folded AS f`;
const SELECT_SPENT = `SELECT coalesce(sum(s.microcredits), 0) AS spent FROM accounts AS a JOIN spending AS s ON s.account = a.id
    WHERE a.key_id = $1 AND s.quarter >= $2 AND s.quarter < $3`;

const SELECT_COUNTED = 'SELECT through FROM counted WHERE budget = $1';
/** Of a budget that is not counted: no hold has drawn on it. The sums may have gone on beyond the place that was asked for. */
const SELECT_ALL = `SELECT ${ACCOUNT}, s.quarter, sum(s.microcredits) AS microcredits,
      (SELECT greatest($1::bigint, f.through) FROM folded AS f) AS "to"
    FROM (
      SELECT account, quarter, microcredits FROM spend WHERE quarter >= $2
      UNION ALL SELECT account, quarter, microcredits FROM unfolded WHERE seq <= $1 AND quarter >= $2
    ) AS s JOIN accounts AS a ON a.id = s.account GROUP BY a.id, s.quarter`;
/** Reads what is not counted since a place. Where all holds have drawn on the budget, it moves the place: the next look reads no more than is new. */
const COUNT_SINCE = `WITH since AS (
    SELECT ${ACCOUNT}, j.quarter, sum(j.amount) AS microcredits, $2::bigint AS "to"
      FROM (
        SELECT account, ((reservation / 8192 + 1767225600000) / 900000)::integer AS quarter, amount, drawn FROM journal
          WHERE seq > $1 AND seq <= $2 AND kind IN ('post', 'settle', 'expire', 'correct') AND amount <> 0
      ) AS j JOIN accounts AS a ON a.id = j.account
      WHERE NOT EXISTS (SELECT 1 FROM funds AS f WHERE f.id = ANY (j.drawn) AND f.budget = $3)
      GROUP BY a.id, j.quarter
  ), moved AS (
    UPDATE counted SET through = $2 WHERE budget = $3 AND through = $1 AND $2 - $1 > ${LOOKED_AT} AND NOT EXISTS (SELECT 1 FROM since)
  ) SELECT * FROM since`;

type UncountedRow = Omit<AccountRow, 'payer'> & {
  readonly quarter: number;
  readonly microcredits: Microcredits;
  readonly to: number;
};

/** Microcredits over all entries, less refunds. */
export async function chargedBy(query: BooksQuery): Promise<Microcredits> {
  return (await query<{ charged: number }>(SELECT_CHARGED, []))[0]?.charged ?? 0;
}

/** Microcredits that a key was charged for its holds of a window, less refunds. */
export async function spentIn(query: BooksQuery, keyId: string, { starts, ends }: Window): Promise<Microcredits> {
  const end = Math.min(quarterOf(ends), QUARTERS_MAX);
  return (await query<{ spent: number }>(SELECT_SPENT, [keyId, quarterOf(starts), end]))[0]?.spent ?? 0;
}

/** The charges of a period. Groups may repeat. */
export async function usageOf(query: BooksQuery, filter: UsageFilter): Promise<EndpointCharges[]> {
  const { text, first, end, owner } = usageSearch('spending', filter);
  const words = text
    .replaceAll(/\?(\d)/g, '$$$1')
    .replace('SELECT value FROM json_each($3)', 'SELECT json_array_elements_text($3::json)');
  return usageIn(filter, await query<UsageRow>(words, [first, Math.min(end, QUARTERS_MAX), ...owner]));
}

/** Charges of holds that did not draw on a budget, and that it has not counted. Where there are none, it writes that it is counted so far. */
export async function uncountedBy(
  query: BooksQuery,
  entries: Horizon<'entries'>,
  budget: number,
  { starts }: Window,
): Promise<UncountedCharges> {
  // First, so that the horizon is not before it.
  const from = (await query<{ through: number }>(SELECT_COUNTED, [budget]))[0]?.through ?? null;
  const { entries: horizon } = await entries.fresh();
  const rows =
    from === null
      ? await query<UncountedRow>(SELECT_ALL, [horizon, quarterOf(starts)])
      : await query<UncountedRow>(COUNT_SINCE, [from, horizon, budget]);
  const charges = rows.map(({ quarter, microcredits, to: _, ...account }) => ({
    ...{ dimensions: dimensionsOf(account), microcredits, quarter },
  }));
  return { from, to: rows[0]?.to ?? horizon, charges };
}
