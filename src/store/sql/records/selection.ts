import type { RecordEntry, RecordQuery } from '../../records.ts';
import type { SqlValue, Statement } from '../statement.ts';
import { outcomePath } from './body.ts';

export type IndexRow = Omit<RecordEntry, 'summary'> & {
  /** The summary; null if the summary is not made yet or the record cannot be read. */
  readonly summary: string | null;
};

/**
 * The filters by a single column, the most selective filter first. The first filter of a query leads the search with its index. The indexes
 * of `status` and `operation` leave out their usual value, which a scan finds at once. `request` has no index, because an index would cost
 * each request more than the few searches for one.
 */
export const FILTERS = [
  { name: 'session', column: 'session', usual: null },
  { name: 'code', column: 'code', usual: null },
  { name: 'keyId', column: 'key_id', usual: null },
  { name: 'user', column: 'user_id', usual: null },
  { name: 'team', column: 'team_id', usual: null },
  { name: 'model', column: 'model', usual: null },
  { name: 'task', column: 'task', usual: null },
  { name: 'status', column: 'status', usual: 'completed' },
  { name: 'operation', column: 'operation', usual: 'chat' },
  { name: 'request', column: 'request', usual: null },
] as const;

export const columns = (summary: string): string =>
  `r.id, r.key_id AS keyId, r.model, r.task, r.status, r.operation, r.request, r.team_id AS team, r.user_id AS "user", r.session, ${summary} AS summary`;

/** A range of IDs: `from` inclusive, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export type Selection = readonly [statement: Statement, params: readonly SqlValue[]];

/**
 * Makes a search statement. The text of the statement tells SQLite the table and the column with which the search begins. PostgreSQL's
 * planner chooses the table and the column from its statistics.
 */
export const searchFor = (sql: string): Statement => ({ sql, inPostgres: inPostgres(sql) });

/** The verdicts of guards in the summary of a row `r`, one in each row. */
const SUMMARY_VERDICTS = "json_each(r.summary, '$[4][14]')";
// A summary that SQLite made has a null in place of no verdicts.
const POSTGRES_VERDICTS = `json_array_elements(CASE json_typeof(r.summary::json -> 4 -> 14)
    WHEN 'array' THEN r.summary::json -> 4 -> 14 END)`;
/** The same for a row of `records` that has no summary yet. */
const BODY_VERDICTS = `json_each(CASE WHEN json_valid(r.body) THEN r.body END, '${outcomePath('guards')}')`;

/** The model that a request named and that was left out, in the summary of a row `r`, or in the body of a row that has no summary yet. */
const SUMMARY_INSTEAD = "json_extract(r.summary, '$[4][18]')";
const POSTGRES_INSTEAD = '(r.summary::json -> 4 -> 18)';
const BODY_INSTEAD = `json_extract(CASE WHEN json_valid(r.body) THEN r.body END, '${outcomePath('insteadOf')}')`;

const BY_ID = /CROSS JOIN (\w+) AS (\w+) ON \2\.id = (CAST\([^)]+\)|\w+\.id)/g;

/**
 * Converts a search for PostgreSQL. A row that is joined by its ID is written as a lookup. In a plain join, the planner would assume that
 * each lookup visits every partition, and would read whole tables.
 */
export const inPostgres = (sql: string): string =>
  sql
    .replaceAll(SUMMARY_VERDICTS, POSTGRES_VERDICTS)
    .replaceAll(SUMMARY_INSTEAD, POSTGRES_INSTEAD)
    .replaceAll(BY_ID, 'CROSS JOIN LATERAL (SELECT * FROM $1 WHERE id = $3 LIMIT 1) AS $2')
    .replaceAll('json_each(?)', 'json_array_elements_text(?::json)')
    .replaceAll(/CROSS JOIN (?!LATERAL)/g, 'JOIN ')
    .replaceAll('+r.', 'r.');

/**
 * Returns a limit to write into the text of a statement, where planners can use it. It is rounded up to a power of 2, so that there are few
 * different texts.
 */
export const limitFor = (rows: number): string => `LIMIT ${2 ** Math.ceil(Math.log2(rows))}`;

/** The conditions of a statement, with their parameters. */
export class Conditions {
  readonly texts: string[] = [];
  readonly params: SqlValue[] = [];

  add(text: string, ...params: readonly SqlValue[]): void {
    this.texts.push(text);
    this.params.push(...params);
  }

  /**
   * Selects the newest rows of a span. A bound that excludes no row is left out: a planner that does not know the values assumes that two
   * bounds select a small part of the table.
   * @param id the column that orders the rows
   */
  newest(column: string, source: string, id: string, { from, to }: Span, end: string): Selection {
    const bounds = new Conditions();
    if (from > 0) bounds.add(`${id} >= ?`, from);
    if (to < Number.MAX_SAFE_INTEGER) bounds.add(`${id} < ?`, to);
    const where = [...this.texts, ...bounds.texts].join(' AND ') || 'TRUE';
    return [
      searchFor(`SELECT ${column} FROM ${source} WHERE ${where} ORDER BY ${id} DESC ${end}`),
      [...this.params, ...bounds.params],
    ];
  }
}

/** Adds the filters by values that only the summary of a record has, or the body of a row that has no summary yet. */
export function addJsonFilters(where: Conditions, query: RecordQuery, column: 'summary' | 'body'): void {
  addVerdicts(where, query, column);
  addInstead(where, query, column);
}

/** Selects records with a finding of a guard. */
function addVerdicts(
  where: Conditions,
  { guard, finding }: Pick<RecordQuery, 'guard' | 'finding'>,
  column: 'summary' | 'body',
): void {
  if (guard === undefined && finding === undefined) return;
  const verdict = new Conditions();
  if (guard !== undefined) verdict.add("g.value ->> 'guard' = ?", guard);
  if (finding === 'failed') verdict.add("g.value ->> 'failed' IS NOT NULL");
  else if (finding !== undefined) {
    verdict.add("g.value ->> 'action' = ?", finding);
    verdict.add("(g.value ->> 'matches' <> '{}' OR g.value ->> 'unreadable' IS NOT NULL)");
  }
  const verdicts = column === 'summary' ? SUMMARY_VERDICTS : BODY_VERDICTS;
  // Few rows have verdicts, and a search for a text is much faster than reading the JSON.
  where.add(`r.${column} LIKE '%"guard":"%'`);
  where.add(`EXISTS (SELECT 1 FROM ${verdicts} AS g WHERE ${verdict.texts.join(' AND ')})`, ...verdict.params);
}

/** Selects records of requests whose named model was left out. */
function addInstead(
  where: Conditions,
  { insteadOf, leftOut }: Pick<RecordQuery, 'insteadOf' | 'leftOut'>,
  column: 'summary' | 'body',
): void {
  if (insteadOf === undefined && leftOut === undefined) return;
  const instead = column === 'summary' ? SUMMARY_INSTEAD : BODY_INSTEAD;
  // Few rows have it, and a search for a text is much faster than reading the JSON.
  where.add(`r.${column} LIKE '%"reason":"%'`);
  if (insteadOf !== undefined) where.add(`${instead} ->> 'model' = ?`, insteadOf);
  if (leftOut === 'any') where.add(`${instead} ->> 'reason' IS NOT NULL`);
  else if (leftOut !== undefined) where.add(`${instead} ->> 'reason' = ?`, leftOut);
}
