import { idAt } from '../../../core/id.ts';
import type { WrongCell } from '../../journal-reader.ts';
import { keptFromAt, STEP_MS, TRAFFIC_KINDS, TRAFFIC_STEPS, type TrafficStep } from '../../traffic.ts';
import { type SqlReader, type Statement, sql } from '../statement.ts';
import { numberOfKind, widthOf } from './rows.ts';
import { countingState } from './state.ts';

/** Wrong cells that are reported of each length at most. */
const CELLS_MAX = 1_000;

const [TOTAL, KEY, TEAM, USER, LABEL] = (['total', 'key', 'team', 'user', 'label'] as const).map(numberOfKind);
/** Kinds whose series depend on records, too. The journal alone knows the sum over each. */
const OF_RECORDS = (['model', 'provider', 'task', 'status', 'key_model'] as const).map(numberOfKind);

/**
 * Adds up the journal in SQL, which shares nothing with the counting. Each series of an account is compared, and of each kind
 * the sum over its series, the nameless rest included.
 */
const wrongOf = (step: TrafficStep): Statement => {
  const text = `WITH counted AS (
      SELECT (j.reservation / 8192 + ${Date.UTC(2026, 0, 1)}) / ${STEP_MS[step]} AS bucket, j.account, sum(j.amount) AS microcredits
        FROM traffic_counting AS c CROSS JOIN journal AS j
        WHERE c.is_clearing = 0 AND j.seq BETWEEN c.journal_before AND c.journal_through
          AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0 AND j.reservation >= ?1
        GROUP BY 1, 2
    ), owned AS (
      SELECT h.bucket, h.microcredits, a.key_id, coalesce(a.team_id, '') AS team_id, coalesce(a.user_id, '') AS user_id, a.labels
        FROM counted AS h JOIN accounts AS a ON a.id = h.account
    ), charges AS (
      SELECT bucket, ${TOTAL} AS kind, '' AS name, microcredits FROM counted
      UNION ALL SELECT bucket, ${KEY}, key_id, microcredits FROM owned
      UNION ALL SELECT bucket, ${TEAM}, team_id, microcredits FROM owned
      UNION ALL SELECT bucket, ${USER}, user_id, microcredits FROM owned
      UNION ALL SELECT bucket, ${LABEL}, l.key || char(10) || l.value, microcredits FROM owned CROSS JOIN json_each(owned.labels) AS l
    ), due AS (
      SELECT bucket, kind, name, sum(microcredits) AS microcredits FROM charges GROUP BY bucket, kind, name
    ), cells AS (
      SELECT t.bucket, t.kind, s.name, t.microcredits
        FROM traffic_counting AS c CROSS JOIN traffic AS t LEFT JOIN traffic_series AS s ON s.kind = t.kind AND s.number = t.series
        WHERE c.is_clearing = 0 AND t.width = ${widthOf(step)} AND t.bucket >= ?2
    ), sums AS (
      SELECT bucket, kind, microcredits AS cell, 0 AS journal FROM cells
      UNION ALL SELECT bucket, kind, 0, microcredits FROM due
      ${OF_RECORDS.map((kind) => `UNION ALL SELECT bucket, ${kind}, 0, microcredits FROM due WHERE kind = ${TOTAL}`).join('\n      ')}
    )
    SELECT bucket, kind, NULL AS series, sum(cell) AS cell, sum(journal) AS journal FROM sums
      GROUP BY bucket, kind HAVING sum(cell) <> sum(journal)
    UNION ALL SELECT c.bucket, c.kind, c.name, c.microcredits, coalesce(d.microcredits, 0)
      FROM cells AS c LEFT JOIN due AS d ON d.bucket = c.bucket AND d.kind = c.kind AND d.name = c.name
      WHERE c.name IS NOT NULL AND c.kind IN (${[KEY, TEAM, USER, LABEL].join(', ')}) AND c.microcredits <> coalesce(d.microcredits, 0)
    ORDER BY bucket, kind, series LIMIT ${CELLS_MAX}`;
  const words = text.replace('char(10)', 'chr(10)');
  return sql(text, {
    inPostgres: words.replace('json_each(owned.labels)', 'LATERAL json_each_text(owned.labels::json)'),
  });
};
const WRONG = TRAFFIC_STEPS.map((step) => [step, wrongOf(step)] as const);
const HAS_TRAFFIC = sql(`SELECT 1 AS one FROM sqlite_schema WHERE type = 'table' AND name = 'traffic_waiting'`, {
  inPostgres: 'SELECT 1 AS one',
});

interface WrongRow {
  readonly bucket: number;
  readonly kind: number;
  readonly series: string | null;
  readonly cell: number;
  readonly journal: number;
}

/** As `JournalReader.wrongCells`. */
export async function wrongCells(db: SqlReader, now: number): Promise<readonly WrongCell[]> {
  if ((await db.query(HAS_TRAFFIC)).length === 0) return [];
  // Earlier buckets have lost their records, and are kept as they were counted.
  const { recountFrom } = await countingState(db);
  const keptFrom = keptFromAt(now);
  const found = WRONG.map(async ([step, statement]) => {
    const first = Math.ceil(Math.max(keptFrom[step], recountFrom) / STEP_MS[step]);
    const rows = await db.query<WrongRow>(statement, [idAt(first * STEP_MS[step]), first]);
    return rows.map(({ bucket, kind, ...row }) => ({
      ...{ step, kind: TRAFFIC_KINDS[kind]!, time: bucket * STEP_MS[step], ...row },
    }));
  });
  return (await Promise.all(found)).flat();
}
