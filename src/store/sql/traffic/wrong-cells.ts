import { idAt } from '../../../core/id.ts';
import type { WrongCell } from '../../journal-reader.ts';
import { keptFromAt, STEP_MS, TRAFFIC_KINDS, TRAFFIC_STEPS } from '../../traffic.ts';
import { type SqlReader, sql } from '../statement.ts';
import { numberOfKind, widthOf } from './rows.ts';
import { countingState, firstKept } from './state.ts';

/** The highest number of wrong cells to report. */
const CELLS_MAX = 1_000;

const [KEY, TEAM, USER, LABEL] = (['key', 'team', 'user', 'label'] as const).map(numberOfKind);
const KINDS = TRAFFIC_KINDS.map((_, kind) => `(${kind})`).join(', ');
const [HOUR, DAY] = [widthOf('hour'), widthOf('day')];

/**
 * Adds up the journal in SQL. This check shares no code with the counting of traffic, so that each of them checks the other. Each journal
 * entry is added once, to the shortest bucket that is kept for its time. For each kind and bucket, the sum over all series (including the
 * unnamed rest) is compared. The series of keys, teams, users and labels are compared by day.
 */
const text = `WITH widths (width, least) AS (
      VALUES (1, CAST(?1 AS BIGINT)), (${HOUR}, CAST(?2 AS BIGINT)), (${DAY}, CAST(?3 AS BIGINT))
    ), kinds (kind) AS (VALUES ${KINDS}
    ), moments AS (
      SELECT (j.reservation / 8192 + ${Date.UTC(2026, 0, 1)}) / ${STEP_MS.minute} AS minute, j.account, j.amount
        FROM traffic_counting AS c CROSS JOIN journal AS j
        WHERE c.is_clearing = 0 AND j.seq BETWEEN c.journal_before AND c.journal_through
          AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0 AND j.reservation >= ?4
    ), counted AS (
      SELECT CASE WHEN minute >= ?1 THEN minute WHEN minute >= ?2 THEN minute - minute % ${HOUR} ELSE minute - minute % ${DAY} END AS minute,
          account, sum(amount) AS microcredits
        FROM moments GROUP BY 1, 2
    ), totals AS (
      SELECT w.width, c.minute / w.width AS bucket, sum(c.microcredits) AS microcredits,
          sum(c.microcredits * (SELECT count(*) FROM json_each(a.labels))) AS labelled
        FROM counted AS c CROSS JOIN widths AS w LEFT JOIN accounts AS a ON a.id = c.account
        WHERE c.minute >= w.least GROUP BY 1, 2
    ), days AS (
      SELECT minute / ${DAY} AS bucket, account, sum(microcredits) AS microcredits FROM counted WHERE minute >= ?3 GROUP BY 1, 2
    ), spenders AS (
      SELECT id AS account, ${KEY} AS kind, key_id AS name FROM accounts
      UNION ALL SELECT id, ${TEAM}, coalesce(team_id, '') FROM accounts
      UNION ALL SELECT id, ${USER}, coalesce(user_id, '') FROM accounts
      UNION ALL SELECT a.id, ${LABEL}, l.key || char(10) || l.value FROM accounts AS a CROSS JOIN json_each(a.labels) AS l
    ), due AS (
      SELECT d.bucket, p.kind, s.number AS series, sum(d.microcredits) AS microcredits
        FROM days AS d JOIN spenders AS p ON p.account = d.account JOIN traffic_series AS s ON s.kind = p.kind AND s.name = p.name
        GROUP BY 1, 2, 3
    ), cells AS (
      SELECT t.width, t.bucket, t.kind, t.series, t.microcredits
        FROM traffic_counting AS c CROSS JOIN widths AS w JOIN traffic AS t ON t.width = w.width AND t.bucket >= w.least / w.width
        WHERE c.is_clearing = 0
    ), sums AS (
      SELECT width, bucket, kind, microcredits AS cell, 0 AS journal FROM cells
      UNION ALL SELECT t.width, t.bucket, k.kind, 0, CASE k.kind WHEN ${LABEL} THEN t.labelled ELSE t.microcredits END
        FROM totals AS t CROSS JOIN kinds AS k
    ), wrong AS (
      SELECT width, bucket, kind, NULL AS series, sum(cell) AS cell, sum(journal) AS journal FROM sums
        GROUP BY width, bucket, kind HAVING sum(cell) <> sum(journal)
      UNION ALL SELECT c.width, c.bucket, c.kind, c.series, c.microcredits, coalesce(d.microcredits, 0)
        FROM cells AS c LEFT JOIN due AS d ON d.bucket = c.bucket AND d.kind = c.kind AND d.series = c.series
        WHERE c.width = ${DAY} AND c.series > 0 AND c.kind IN (${[KEY, TEAM, USER, LABEL].join(', ')})
          AND c.microcredits <> coalesce(d.microcredits, 0)
    )
    SELECT w.width, w.bucket, w.kind, s.name AS series, w.cell, w.journal
      FROM wrong AS w LEFT JOIN traffic_series AS s ON s.kind = w.kind AND s.number = w.series
      ORDER BY w.width, w.bucket, w.kind, s.name LIMIT ${CELLS_MAX}`;
// An edited account is reported by another check, so its invalid labels count as empty.
const WRONG = sql(text.replaceAll('(a.labels)', "(iif(json_valid(a.labels), a.labels, '{}'))"), {
  inPostgres: text
    .replace('char(10)', 'chr(10)')
    .replace('NULL AS series', 'NULL::bigint AS series')
    .replaceAll('json_each(a.labels)', 'json_each_text(a.labels::json)'),
});
const HAS_TRAFFIC = sql(`SELECT 1 AS one FROM sqlite_schema WHERE type = 'table' AND name = 'traffic_kept'`, {
  inPostgres: 'SELECT 1 AS one',
});

interface WrongRow extends Pick<WrongCell, 'series' | 'cell' | 'journal'> {
  readonly width: number;
  readonly bucket: number;
  readonly kind: number;
}

/** Finds wrong cells, as described at `JournalReader.wrongCells`. */
export async function wrongCells(db: SqlReader, now: number): Promise<readonly WrongCell[]> {
  if ((await db.query(HAS_TRAFFIC)).length === 0) return [];
  // Earlier buckets are not compared, because their records were deleted and the buckets are kept unchanged.
  const { recountFrom } = await countingState(db);
  const keptFrom = keptFromAt(now);
  // The server that deleted or left out earlier buckets may have a clock that is ahead of this server's clock, so the stored bounds apply
  // as well.
  const kept = await firstKept(db);
  const from = TRAFFIC_STEPS.map((step) => {
    const bucket = Math.ceil(Math.max(keptFrom[step], recountFrom) / STEP_MS[step]);
    return Math.max(bucket, kept.get(widthOf(step)) ?? 0) * widthOf(step);
  });
  const rows = await db.query<WrongRow>(WRONG, [...from, idAt(Math.min(...from) * STEP_MS.minute)]);
  return rows.map(({ width, bucket, kind, ...row }) => ({
    step: TRAFFIC_STEPS.find((step) => widthOf(step) === width)!,
    kind: TRAFFIC_KINDS[kind]!,
    time: bucket * width * STEP_MS.minute,
    ...row,
  }));
}
