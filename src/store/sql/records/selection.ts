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

export const inPostgres = (sql: string): string =>
  sql
    .replaceAll('json_each(?)', 'json_array_elements_text(?::json)')
    .replaceAll('CROSS JOIN', 'JOIN')
    .replaceAll('+r.', 'r.');

/** Conditions with their parameters. */
export class Conditions {
  readonly texts: string[] = [];
  readonly params: SqlValue[] = [];

  add(text: string, ...params: readonly SqlValue[]): void {
    this.texts.push(text);
    this.params.push(...params);
  }

  /** The newest of a span. @param id the column by which the rows are ordered */
  newest(column: string, source: string, id: string, { from, to }: Span, end: string): Selection {
    const where = [...this.texts, `${id} >= ? AND ${id} < ?`].join(' AND ');
    return [
      searchFor(`SELECT ${column} FROM ${source} WHERE ${where} ORDER BY ${id} DESC ${end}`),
      [...this.params, from, to],
    ];
  }
}
