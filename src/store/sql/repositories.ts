import type { Repositories } from '../repositories.ts';
import { sqlAlerts } from './alerts.ts';
import { sqlCache } from './cache.ts';
import { sqlConversations } from './conversations.ts';
import { sqlBrokenDeclarations } from './endpoints.ts';
import { sqlIdempotency } from './idempotency.ts';
import { sqlInstanceReports } from './instance-reports.ts';
import { sqlKeys } from './keys.ts';
import { sqlLearning } from './learning.ts';
import { sqlLogins } from './logins.ts';
import { sqlBlocklist, sqlGasNonces, sqlPendingSettlements, sqlQuoteSecret } from './payment-extras.ts';
import { sqlPayments } from './payments.ts';
import { sqlPeople } from './people.ts';
import { sqlPushedPolicies } from './pushed-policies.ts';
import type { SqlTables } from './statement.ts';
import { sqlSubjects } from './subjects.ts';
import { sqlThreads } from './threads.ts';
import { sqlTrail } from './trail.ts';

/** Repositories that each database implements in its own way. */
type OfADatabase = 'ledger' | 'journal' | 'records' | 'traffic';

/** The repositories whose statements SQLite and PostgreSQL share, over one handle of a database. */
export const sqlRepositories = (db: SqlTables): Omit<Repositories, OfADatabase> => ({
  alerts: sqlAlerts(db),
  instanceReports: sqlInstanceReports(db),
  keys: sqlKeys(db),
  trail: sqlTrail(db),
  idempotency: sqlIdempotency(db),
  payments: sqlPayments(db),
  blocklist: sqlBlocklist(db),
  pendingSettlements: sqlPendingSettlements(db),
  gasNonces: sqlGasNonces(db),
  quoteSecret: sqlQuoteSecret(db),
  people: sqlPeople(db),
  pushedPolicies: sqlPushedPolicies(db),
  learning: sqlLearning(db),
  brokenDeclarations: sqlBrokenDeclarations(db),
  subjects: sqlSubjects(db),
  threads: sqlThreads(db),
  conversations: sqlConversations(db),
  cache: sqlCache(db),
  logins: sqlLogins(db),
});
