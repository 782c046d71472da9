import { POSTGRES_NOW } from '../../sql/statement.ts';
import type { Horizon } from '../horizon.ts';
import type { BooksQuery } from './names.ts';

/** Numbers of entries that are folded at once. */
const STEP = 100_000;
/** Another instance need not fold again so soon, ms. */
const RECENT_MS = 4_000;

const SELECT_THROUGH = `SELECT through, ${POSTGRES_NOW} - at < ${RECENT_MS} AS "isRecent" FROM folded`;
/** Whoever comes behind another finds the place moved, and adds nothing. */
const FOLD = `WITH sums AS (
      SELECT quarter, account, tariff, count(*) AS charges, sum(microcredits) AS microcredits, sum(input_tokens) AS input_tokens,
          sum(output_tokens) AS output_tokens
        FROM unfolded WHERE seq <= $2 GROUP BY quarter, account, tariff
    ), moved AS (
      UPDATE folded SET through = $2, charged = folded.charged + coalesce((SELECT sum(s.microcredits) FROM sums AS s), 0), at = ${POSTGRES_NOW}
        WHERE folded.through = $1 RETURNING 1
    )
    INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens)
      SELECT s.* FROM sums AS s, moved ORDER BY s.quarter, s.account, s.tariff
    ON CONFLICT (quarter, account, tariff) DO UPDATE SET charges = spend.charges + excluded.charges,
      microcredits = spend.microcredits + excluded.microcredits, input_tokens = spend.input_tokens + excluded.input_tokens,
      output_tokens = spend.output_tokens + excluded.output_tokens`;

/**
 * Adds the charges of the journal to the sums, up to its horizon. Any instance may, at any moment: each charge is added once. Rejects with
 * StoreError.
 * @param isDue false to fold even where another has done so a moment ago
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
