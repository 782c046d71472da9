import type { Timers } from '../../core/timers.ts';
import type { Repositories } from '../repositories.ts';
import { sqlRepositories } from '../sql/repositories.ts';
import type { SqlTables } from '../sql/statement.ts';
import { postgresJournal } from './books/journal-reader.ts';
import { postgresLedger } from './books/ledger-table.ts';
import { postgresRecords } from './records.ts';
import { postgresTraffic } from './traffic.ts';

/**
 * The repositories over one handle of a database.
 * @param timers null for a database as it is at one moment
 */
export const postgresRepositories = (db: SqlTables, timers: Timers | null): Repositories => ({
  ...sqlRepositories(db),
  ledger: postgresLedger(db),
  journal: postgresJournal(db, timers),
  records: postgresRecords(db, timers),
  traffic: postgresTraffic(db, timers ? { timers } : {}),
});
