import type { Repositories } from '../repositories.ts';
import { sqlAlerts } from '../sql/alerts.ts';
import { sqlBrokenDeclarations } from '../sql/endpoints.ts';
import { sqlIdempotency } from '../sql/idempotency.ts';
import { sqlKeys } from '../sql/keys.ts';
import { sqlLearning } from '../sql/learning/tables.ts';
import { sqlLogins } from '../sql/logins.ts';
import { sqlBlocklist, sqlGasNonces, sqlPendingSettlements, sqlQuoteSecret } from '../sql/payment-extras.ts';
import { sqlPayments } from '../sql/payments.ts';
import { sqlPeople } from '../sql/people.ts';
import type { SqlTables } from '../sql/statement.ts';
import { sqlSubjects } from '../sql/subjects.ts';
import { sqlThreads } from '../sql/threads.ts';
import { sqlTrail } from '../sql/trail.ts';
import { postgresRecords } from './records.ts';

/** Those that come with the books. */
type OfTheBooks = 'ledger' | 'journal' | 'traffic';

/** The repositories over one handle of a database. */
export const postgresRepositories = (db: SqlTables): Omit<Repositories, OfTheBooks> => ({
  alerts: sqlAlerts(db),
  keys: sqlKeys(db),
  trail: sqlTrail(db),
  idempotency: sqlIdempotency(db),
  payments: sqlPayments(db),
  blocklist: sqlBlocklist(db),
  pendingSettlements: sqlPendingSettlements(db),
  gasNonces: sqlGasNonces(db),
  quoteSecret: sqlQuoteSecret(db),
  people: sqlPeople(db),
  records: postgresRecords(db),
  learning: sqlLearning(db),
  brokenDeclarations: sqlBrokenDeclarations(db),
  subjects: sqlSubjects(db),
  threads: sqlThreads(db),
  logins: sqlLogins(db),
});
