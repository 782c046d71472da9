import type { RecordQuery } from '../../records.ts';
import { Conditions, columns, FILTERS, type Selection, type Span } from '../../sql/records/selection.ts';
import { SUMMARY } from './summary.ts';

/** The newest records that the index has yet to reach, and that match. */
export function freshSelection(query: RecordQuery, span: Span, limit: number): Selection {
  const where = new Conditions();
  where.add('r.seq > (SELECT through FROM record_indexing)');
  for (const [name, value] of Object.entries(query.labels ?? {})) {
    // A name may have dots and quotes, which a path of JSON would read.
    where.add('EXISTS (SELECT 1 FROM json_each(r.labels) AS j WHERE j.key = ? AND j.atom = ?)', name, value);
  }
  for (const { name, column } of FILTERS) {
    const value = query[name];
    if (value !== undefined) where.add(`r.${column} = ?`, value);
  }
  if (query.keyIds) where.add('r.key_id IN (SELECT value FROM json_each(?))', JSON.stringify(query.keyIds));
  const [{ sql }, params] = where.newest('r.seq', 'records AS r', 'r.id', span, 'LIMIT ?');
  return [{ sql: `SELECT ${columns(SUMMARY)} FROM records AS r WHERE r.seq IN (${sql})` }, [...params, limit]];
}
