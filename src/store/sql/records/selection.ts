import type { RecordEntry } from '../../records.ts';
import type { SqlValue, Statement } from '../statement.ts';

export type IndexRow = Omit<RecordEntry, 'summary'> & {
  /** Its row in `records`; null for one in `decisions`. */
  readonly seq: number | null;
  /** Null where it is not made yet, and for an unreadable record. */
  readonly summary: string | null;
};

/**
 * The filters by a column, the most selective first: the first that is given leads the search by its index. The index
 * of the last two leaves out their usual value, which a scan finds at once.
 */
export const FILTERS = [
  { name: 'session', column: 'session', usual: null },
  { name: 'keyId', column: 'key_id', usual: null },
  { name: 'user', column: 'user_id', usual: null },
  { name: 'team', column: 'team_id', usual: null },
  { name: 'model', column: 'model', usual: null },
  { name: 'task', column: 'task', usual: null },
  { name: 'status', column: 'status', usual: 'completed' },
  { name: 'operation', column: 'operation', usual: 'chat' },
] as const;

export const columns = (summary: string): string =>
  `r.id, r.seq, r.key_id AS keyId, r.model, r.task, r.status, r.operation, r.team_id AS team, r.user_id AS "user", r.session, ${summary} AS summary`;

/** A range of IDs: from inclusive, to exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export type Selection = readonly [statement: Statement, params: readonly SqlValue[]];

/** A search, of which SQLite is told by which table and column to begin; the planner of PostgreSQL knows how many rows there are. */
export const searchFor = (sql: string): Statement => ({ sql, inPostgres: inPostgres(sql) });

const BY_ID = /CROSS JOIN (\w+) AS (\w+) ON \2\.id = (CAST\([^)]+\)|\w+\.id)/g;

/**
 * The same words in PostgreSQL. A row that is joined by its ID is looked up: to the planner each look is one into every partition, so that
 * it would rather read whole tables.
 */
export const inPostgres = (sql: string): string =>
  sql
    .replaceAll(BY_ID, 'CROSS JOIN LATERAL (SELECT * FROM $1 WHERE id = $3 LIMIT 1) AS $2')
    .replaceAll('json_each(?)', 'json_array_elements_text(?::json)')
    .replaceAll(/CROSS JOIN (?!LATERAL)/g, 'JOIN ')
    .replaceAll('+r.', 'r.');

/** A limit for the text of a statement, where planners see it: one of few, the next above. */
export const limitFor = (rows: number): string => `LIMIT ${2 ** Math.ceil(Math.log2(rows))}`;

/** Conditions with their parameters. */
export class Conditions {
  readonly texts: string[] = [];
  readonly params: SqlValue[] = [];

  add(text: string, ...params: readonly SqlValue[]): void {
    this.texts.push(text);
    this.params.push(...params);
  }

  /**
   * The newest of a span. A bound that excludes none is left out: a planner that does not know the values takes two for a small part.
   * @param id the column by which the rows are ordered
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
