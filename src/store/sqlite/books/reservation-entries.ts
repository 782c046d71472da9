import type { ReservationEntry } from '../../journal-reader.ts';
import { type SqlReader, sql } from '../../sql/statement.ts';
import { findSteps } from './adjust.ts';

/** What was billed beyond a charge stands right behind it. */
const SELECT_ENTRIES = sql(
  `SELECT j.kind, j.amount, j.time, t.model, t.provider, t.upstream, t.price, coalesce(j.input_tokens, 0) AS input,
      coalesce(j.cached_input_tokens, 0) AS cached, coalesce(j.cache_write_tokens, 0) AS written,
      coalesce(j.output_tokens, 0) AS output, coalesce(j.reasoning_tokens, 0) AS reasoning, j.estimated,
      CASE WHEN j.kind IN ('post', 'settle') THEN j.note END AS addOns
    FROM journal AS j LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq >= ? AND j.seq <= ? AND j.reservation = ? AND j.kind <> 'correct' ORDER BY j.seq`,
);

type EntryRow = Omit<ReservationEntry, 'estimated'> & { readonly estimated: number | null };

/** The rows of a reservation from its first to its end. The journal has no index on it: see `findSteps`. */
export async function reservationEntries(db: SqlReader, id: number): Promise<readonly ReservationEntry[]> {
  const steps = await findSteps(db, id);
  if (!steps) return [];
  const ends = [steps[0].seq, (steps.at(-1) ?? steps[0]).seq + 1] as const;
  const rows = await db.query<EntryRow>(SELECT_ENTRIES, [...ends, id]);
  return rows.map((row) => ({ ...row, estimated: row.estimated === 1 }));
}
