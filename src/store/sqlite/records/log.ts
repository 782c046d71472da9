import type { DecisionRecord } from '../../../core/decision/record.ts';
import { WrittenTraffic } from '../../record-traffic.ts';
import type { RecordLog, RecordQuery } from '../../records.ts';
import { listRecords } from '../../sql/records/list.ts';
import {
  decodeRow,
  RECORD_COLUMNS,
  RECORD_ROW,
  type RecordRow,
  recordValues,
  refusalValues,
} from '../../sql/records/row.ts';
import {
  addJsonFilters,
  Conditions,
  columns,
  FILTERS,
  type Selection,
  type Span,
} from '../../sql/records/selection.ts';
import { first, type SqlTables, type SqlValue, type SqlWrite, sql, write } from '../../sql/statement.ts';
import { indexRecords, pruneRecords } from './indexing.ts';
import { SUMMARY } from './summary.ts';

/** Selects the newest matching records that are not indexed yet. */
function freshSelection(query: RecordQuery, span: Span, limit: number): Selection {
  const where = new Conditions();
  where.add('r.seq > (SELECT through FROM record_indexing)');
  for (const [name, value] of Object.entries(query.labels ?? {})) {
    // The statement uses `json_each`, because a name may contain dots and quotes, which a JSON path would interpret.
    where.add('EXISTS (SELECT 1 FROM json_each(r.labels) AS j WHERE j.key = ? AND j.atom = ?)', name, value);
  }
  for (const { name, column } of FILTERS) {
    const value = query[name];
    if (value !== undefined) where.add(`r.${column} = ?`, value);
  }
  if (query.keyIds) where.add('r.key_id IN (SELECT value FROM json_each(?))', JSON.stringify(query.keyIds));
  if (query.codes) where.add('r.code IN (SELECT value FROM json_each(?))', JSON.stringify(query.codes));
  addJsonFilters(where, query, 'body');
  const [{ sql }, params] = where.newest('r.seq', 'records AS r', 'r.id', span, 'LIMIT ?');
  return [{ sql: `SELECT ${columns(SUMMARY)} FROM records AS r WHERE r.seq IN (${sql})` }, [...params, limit]];
}

const INSERT = sql(
  `INSERT INTO records (${RECORD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);
const FIND = sql(`SELECT ${RECORD_ROW} FROM records WHERE seq = (SELECT seq FROM record_index WHERE id = ?1)
    UNION ALL SELECT ${RECORD_ROW} FROM records WHERE seq > (SELECT through FROM record_indexing) AND id = ?1 LIMIT 1`);

/** @param written remembers what each record adds to traffic */
export function sqliteRecordLog(db: SqlTables, written = new WrittenTraffic()): RecordLog {
  const find = async (id: number): Promise<DecisionRecord | null> => {
    const row = await first<RecordRow>(db, FIND, id);
    return row ? decodeRow(row) : null;
  };
  return {
    add: (record): SqlWrite => new RecordWrite(record, written),
    refuse(refusal): SqlWrite {
      written.refuse(refusal);
      return write(INSERT, ...refusalValues(refusal));
    },
    find,
    list: (query) => listRecords(db, query, { read: find, fresh: freshSelection }),
    index: () => indexRecords(db),
    prune: (beforeId) => pruneRecords(db, beforeId),
  };
}

/**
 * The write of a record. The values of the write are made when the batch is written, because making many values in a row takes a third of
 * the time. A record must therefore not change once it is added.
 */
class RecordWrite implements SqlWrite {
  readonly statement = INSERT;
  readonly #record: DecisionRecord;
  readonly #written: WrittenTraffic;

  constructor(record: DecisionRecord, written: WrittenTraffic) {
    this.#record = record;
    this.#written = written;
  }

  get params(): readonly SqlValue[] {
    this.#written.add(this.#record);
    return recordValues(this.#record);
  }
}
