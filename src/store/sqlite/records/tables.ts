import type { WrittenTraffic } from '../../record-traffic.ts';
import type { RecordTables } from '../../records.ts';
import { sqlContents } from '../../sql/records/contents.ts';
import { sqlReadings } from '../../sql/records/readings.ts';
import { sqlRevisions } from '../../sql/records/revisions.ts';
import { type SqlTables, sql } from '../../sql/statement.ts';
import { sqliteRecordLog } from './log.ts';

const FIND_TABLE = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'record_index'`);

/** The repositories of records over one handle of a database. Callers must not call `prune` over a read-only handle. */
export const sqliteRecords = (db: SqlTables, written: WrittenTraffic): RecordTables => ({
  log: sqliteRecordLog(db, written),
  readings: sqlReadings(db),
  revisions: sqlRevisions(db),
  contents: sqlContents(db),
  isCurrent: async () => (await db.query(FIND_TABLE)).length > 0,
});
