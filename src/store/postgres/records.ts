import { type DecisionRecord, refusalSummary, summaryOf } from '../../core/decision/record.ts';
import type { Timers } from '../../core/time/timers.ts';
import { WrittenTraffic } from '../record-traffic.ts';
import type { RecordLog, RecordTables } from '../records.ts';
import { sqlContents } from '../sql/records/contents.ts';
import { listRecords } from '../sql/records/list.ts';
import { sqlReadings } from '../sql/records/readings.ts';
import { sqlRevisions } from '../sql/records/revisions.ts';
import {
  decodeRow,
  RECORD_COLUMNS,
  RECORD_ROW,
  type RecordRow,
  recordValues,
  refusalValues,
} from '../sql/records/row.ts';
import { encodeSummary } from '../sql/records/summary.ts';
import { first, type SqlTables, type SqlValue, type SqlWrite, sql, write } from '../sql/statement.ts';
import { RECORDS_PRUNED } from '../sql/traffic/state.ts';
import { RecordPartitions } from './partitions.ts';

/**
 * Inserts the record and its index row in one statement. Indexing later, up to a position, could skip rows: with several instances, a row
 * with a lower number may become visible later.
 */
const INSERT = sql(
  `WITH given AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
      $17::bigint[], $18::text[]) AS given (${RECORD_COLUMNS}, summary)),
    record AS (INSERT INTO records (${RECORD_COLUMNS}) SELECT ${RECORD_COLUMNS} FROM given),
    indexed AS (INSERT INTO record_index (id, key_id, operation, status, model, task, session, team_id, user_id, code, request, summary)
      SELECT id, key_id, operation, status, model, task, session, team_id, user_id, code, request, summary FROM given)
    INSERT INTO record_labels (name, value, id)
      SELECT label.key, label.value, given.id FROM given, json_each_text(given.labels::json) AS label`,
  { takesRows: true },
);
const FIND = sql(`SELECT ${RECORD_ROW} FROM records WHERE id = ?`);

const NEXT_BELOW = sql(
  'SELECT count(*) AS n, max(id) AS id FROM (SELECT id FROM record_index WHERE id < ? ORDER BY id LIMIT 500) AS below',
);
const DELETIONS = ['record_labels', 'records', 'record_index'].map((table) =>
  sql(`DELETE FROM ${table} WHERE id <= ?`),
);

/**
 * The repositories of records in one database.
 * @param timers null for a snapshot of the database
 * @param written collects what each record adds to the traffic
 */
export function postgresRecords(
  db: SqlTables,
  timers: Timers | null = null,
  written = new WrittenTraffic(),
): RecordTables {
  const partitions = new RecordPartitions(db, timers);
  return {
    log: postgresRecordLog(db, partitions, written),
    readings: sqlReadings(db),
    revisions: sqlRevisions(db),
    contents: sqlContents(db),
    partition: partitions.prepare.bind(partitions),
    isCurrent: async () => true,
  };
}

function postgresRecordLog(db: SqlTables, partitions: RecordPartitions, written: WrittenTraffic): RecordLog {
  const find = async (id: number): Promise<DecisionRecord | null> => {
    const row = await first<RecordRow>(db, FIND, id);
    return row ? decodeRow(row) : null;
  };
  return {
    add: (record): SqlWrite => new IndexedRecord(record, written),
    refuse(refusal): SqlWrite {
      written.refuse(refusal);
      const summary = encodeSummary(refusalSummary(refusal), { named: null, model: '' });
      return write(INSERT, ...refusalValues(refusal), summary);
    },
    find,
    list: (query) => listRecords(db, query, { read: find }),
    // A record is inserted with its index row, so nothing is left to index.
    index: async () => false,
    async prune(beforeId, slack = 0) {
      const below = await partitions.drop(beforeId, slack);
      for (let deleted = 0; ; ) {
        const next = await first<{ n: number; id: number }>(db, NEXT_BELOW, below);
        if (!next?.n) return deleted;
        const deletions = DELETIONS.map((statement) => write(statement, next.id));
        await db.commit([...deletions, write(RECORDS_PRUNED, below)]);
        deleted += next.n;
      }
    },
  };
}

/** Inserts a record and its index row. The values of the row are computed when the batch is written. */
class IndexedRecord implements SqlWrite {
  readonly statement = INSERT;
  readonly #record: DecisionRecord;
  readonly #written: WrittenTraffic;

  constructor(record: DecisionRecord, written: WrittenTraffic) {
    this.#record = record;
    this.#written = written;
  }

  get params(): readonly SqlValue[] {
    const record = this.#record;
    this.#written.add(record);
    return [...recordValues(record), encodeSummary(summaryOf(record), record.facts)];
  }
}
