import type { Timers } from '../../core/time/timers.ts';
import { WrittenTraffic } from '../record-traffic.ts';
import type { Repositories } from '../repositories.ts';
import { sqlRepositories } from '../sql/repositories.ts';
import type { SqlTables } from '../sql/statement.ts';
import { postgresJournal } from './books/journal-reader.ts';
import { postgresLedger } from './books/ledger-table.ts';
import { postgresRecords } from './records.ts';
import { postgresTraffic } from './traffic.ts';

/**
 * The repositories of one database.
 * @param timers null for a snapshot of the database
 */
export const postgresRepositories = (
  db: SqlTables,
  timers: Timers | null,
  written = new WrittenTraffic(),
): Repositories => ({
  ...sqlRepositories(db),
  ledger: postgresLedger(db),
  journal: postgresJournal(db, timers),
  records: postgresRecords(db, timers, written),
  traffic: postgresTraffic(db, { written, ...(timers && { timers }) }),
});
