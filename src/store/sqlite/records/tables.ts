import type { RecordTables } from '../../records.ts';
import { type SqlTables, sql } from '../../sql/statement.ts';
import { sqliteContents } from './contents.ts';
import { sqliteRecordLog } from './log.ts';
import { sqliteReadings } from './readings.ts';
import { sqliteRevisions } from './revisions.ts';

const FIND_TABLE = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'record_index'`);

/** The repositories of records over one handle of a database. Of a handle that only reads, none may be pruned. */
export const sqliteRecords = (db: SqlTables): RecordTables => ({
  log: sqliteRecordLog(db),
  readings: sqliteReadings(db),
  revisions: sqliteRevisions(db),
  contents: sqliteContents(db),
  isCurrent: async () => (await db.query(FIND_TABLE)).length > 0,
});
