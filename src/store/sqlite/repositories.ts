import type { Repositories } from '../repositories.ts';
import { sqliteAlerts } from './alerts.ts';
import { sqliteJournal } from './books/journal-reader.ts';
import { sqliteLedger } from './books/ledger-table.ts';
import { sqliteBrokenDeclarations } from './endpoints.ts';
import { sqliteIdempotency } from './idempotency.ts';
import { sqliteKeys } from './keys.ts';
import { sqliteLearning } from './learning/tables.ts';
import { sqliteLogins } from './logins.ts';
import { sqliteBlocklist, sqliteGasNonces, sqlitePendingSettlements, sqliteQuoteSecret } from './payment-extras.ts';
import { sqlitePayments } from './payments.ts';
import { sqlitePeople } from './people.ts';
import { sqliteRecords } from './records/tables.ts';
import type { SqlTables } from './statement.ts';
import { sqliteSubjects } from './subjects.ts';
import { sqliteThreads } from './threads.ts';
import { sqliteTraffic } from './traffic/table.ts';
import { sqliteTrail } from './trail.ts';

/** The repositories over one handle of a database. Of a handle that only reads, none may be asked to prune. */
export const sqliteRepositories = (db: SqlTables): Repositories => ({
  ledger: sqliteLedger(db),
  journal: sqliteJournal(db),
  alerts: sqliteAlerts(db),
  keys: sqliteKeys(db),
  trail: sqliteTrail(db),
  idempotency: sqliteIdempotency(db),
  payments: sqlitePayments(db),
  blocklist: sqliteBlocklist(db),
  pendingSettlements: sqlitePendingSettlements(db),
  gasNonces: sqliteGasNonces(db),
  quoteSecret: sqliteQuoteSecret(db),
  people: sqlitePeople(db),
  records: sqliteRecords(db),
  learning: sqliteLearning(db),
  brokenDeclarations: sqliteBrokenDeclarations(db),
  subjects: sqliteSubjects(db),
  threads: sqliteThreads(db),
  logins: sqliteLogins(db),
  traffic: sqliteTraffic(db),
});
