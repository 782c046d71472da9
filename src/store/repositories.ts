import type { AlertTable } from './alerts.ts';
import type { CacheTable } from './cache.ts';
import type { ConversationTable } from './conversations.ts';
import type { BrokenDeclarationTable } from './endpoints.ts';
import type { IdempotencyTable } from './idempotency.ts';
import type { InstanceReportTable } from './instance-reports.ts';
import type { JournalReader } from './journal-reader.ts';
import type { KeyTable } from './keys.ts';
import type { LearningTables } from './learning.ts';
import type { LedgerTable } from './ledger-table.ts';
import type { LoginTable } from './logins.ts';
import type {
  BlocklistTable,
  GasNonceTable,
  PaymentTable,
  PendingSettlementTable,
  QuoteSecretTable,
} from './payments.ts';
import type { PeopleTable } from './people.ts';
import type { PushedPolicyTable } from './pushed-policies.ts';
import type { RecordTables } from './records.ts';
import type { SubjectTable } from './subjects.ts';
import type { ThreadTable } from './threads.ts';
import type { TrafficTable } from './traffic.ts';
import type { TrailTable } from './trail.ts';

/** The repositories of a store. A commit can contain writes of several repositories. The store refuses writes made by another store. */
export interface Repositories {
  /** The ledger in the form in which commands see it. The server opens the `LedgerBooks` separately. */
  readonly ledger: LedgerTable;
  readonly journal: JournalReader;
  readonly alerts: AlertTable;
  readonly instanceReports: InstanceReportTable;
  readonly keys: KeyTable;
  readonly trail: TrailTable;
  readonly idempotency: IdempotencyTable;
  readonly payments: PaymentTable;
  readonly blocklist: BlocklistTable;
  readonly pendingSettlements: PendingSettlementTable;
  readonly gasNonces: GasNonceTable;
  readonly quoteSecret: QuoteSecretTable;
  readonly people: PeopleTable;
  readonly pushedPolicies: PushedPolicyTable;
  readonly records: RecordTables;
  readonly learning: LearningTables;
  readonly brokenDeclarations: BrokenDeclarationTable;
  readonly subjects: SubjectTable;
  readonly threads: ThreadTable;
  readonly conversations: ConversationTable;
  readonly cache: CacheTable;
  readonly logins: LoginTable;
  readonly traffic: TrafficTable;
}
