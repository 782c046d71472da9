import { POSTGRES_NOW } from '../../sql/statement.ts';
import type { Horizon } from '../horizon.ts';
import type { BooksQuery } from './names.ts';

/** How many journal numbers one statement adds to the sums. */
const STEP = 100_000;
/** If any instance has folded charges within this time, ms, a regular run does nothing. */
const RECENT_MS = 4_000;

const SELECT_THROUGH = `SELECT through, ${POSTGRES_NOW} - at < ${RECENT_MS} AS "isRecent" FROM folded`;
/**
 * Adds charges to the sums, on the condition that `folded.through` is still `$1`. If another instance was faster, the statement adds
 * nothing.
 */
const FOLD = `WITH sums AS (
      SELECT quarter, account, tariff, count(*) AS charges, sum(microcredits) AS microcredits, sum(input_tokens) AS input_tokens,
          sum(output_tokens) AS output_tokens, sum(stated) AS stated, sum(matched) AS matched
        FROM unfolded WHERE seq <= $2 GROUP BY quarter, account, tariff
    ), moved AS (
      UPDATE folded SET through = $2, charged = folded.charged + coalesce((SELECT sum(s.microcredits) FROM sums AS s), 0), at = ${POSTGRES_NOW}
        WHERE folded.through = $1 RETURNING 1
    )
    INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens, stated, matched)
      SELECT s.* FROM sums AS s, moved ORDER BY s.quarter, s.account, s.tariff
    ON CONFLICT (quarter, account, tariff) DO UPDATE SET charges = spend.charges + excluded.charges,
      microcredits = spend.microcredits + excluded.microcredits, input_tokens = spend.input_tokens + excluded.input_tokens,
      output_tokens = spend.output_tokens + excluded.output_tokens, stated = spend.stated + excluded.stated,
      matched = spend.matched + excluded.matched`;

/**
 * Adds the charges of the journal to the stored sums (the table `spend`), up to the horizon of the journal. Any instance may call this
 * function at any time, because each charge is added only once.
 * @param isDue false to run even if an instance has added charges within `RECENT_MS`
 * @throws StoreError by rejecting
 */
export async function foldCharges(query: BooksQuery, entries: Horizon<'entries'>, isDue = true): Promise<void> {
  const [found] = await query<{ through: number; isRecent: number }>(SELECT_THROUGH, []);
  if (!found || (isDue && found.isRecent === 1)) return;
  const { entries: horizon } = await entries.fresh();
  for (let from = found.through; from < horizon; ) {
    const to = Math.min(horizon, from + STEP);
    await query(FOLD, [from, to]);
    from = to;
  }
}
