import { WrittenTraffic } from '../record-traffic.ts';
import type { Repositories } from '../repositories.ts';
import { sqlRepositories } from '../sql/repositories.ts';
import type { SqlTables } from '../sql/statement.ts';
import { sqliteJournal } from './books/journal-reader.ts';
import { sqliteLedger } from './books/ledger-table.ts';
import { sqliteRecords } from './records/tables.ts';
import { sqliteTraffic } from './traffic/table.ts';

/** The repositories over one handle of a database. Callers must not call `prune` over a read-only handle. */
export const sqliteRepositories = (db: SqlTables, written = new WrittenTraffic()): Repositories => ({
  ...sqlRepositories(db),
  ledger: sqliteLedger(db),
  journal: sqliteJournal(db),
  records: sqliteRecords(db, written),
  traffic: sqliteTraffic(db, written),
});
