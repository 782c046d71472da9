import type { Static, TSchema } from '@sinclair/typebox';
import type * as alerts from '../../admin/alerts.ts';
import type { Amount } from '../../admin/amount.ts';
import type { CacheStatus } from '../../admin/cache-status.ts';
import type { Decision, DecisionRepeat, FoundRequest } from '../../admin/decision.ts';
import type * as decisions from '../../admin/decision-list.ts';
import type { DecisionMoney } from '../../admin/decision-money.ts';
import type { GuardList } from '../../admin/guard-list.ts';
import type * as keys from '../../admin/key-fields.ts';
import type { LearningStatus } from '../../admin/learning.ts';
import type * as ledger from '../../admin/ledger.ts';
import type * as logins from '../../admin/logins.ts';
import type { PaymentList } from '../../admin/payments.ts';
import type * as policy from '../../admin/policy-answers.ts';
import type * as spend from '../../admin/spend.ts';
import type * as servers from '../../admin/status.ts';
import type * as subjects from '../../admin/subjects.ts';
import type * as teams from '../../admin/teams.ts';
import type * as traffic from '../../admin/traffic.ts';
import type * as trail from '../../admin/trail.ts';
import type * as usage from '../../admin/usage.ts';
import type * as users from '../../admin/users.ts';
import type { WalletStatus } from '../../admin/wallets.ts';
import type * as models from '../../http/schemas/models.ts';

/** The response schema of each path that the console reads. A view that reads another path needs a new line in this list. */
interface ReadSchemas {
  '/admin/alerts': typeof alerts.AlertList;
  '/admin/amount': typeof Amount;
  '/admin/cache': typeof CacheStatus;
  '/admin/cluster': typeof servers.ClusterStatus;
  '/admin/decisions': typeof decisions.DecisionList;
  '/admin/endpoints': typeof servers.EndpointList;
  '/admin/guards': typeof GuardList;
  '/admin/spend': typeof spend.Spend;
  '/admin/status': typeof servers.InstanceStatus;
  '/admin/keys': typeof keys.ApiKeyList;
  [key: `/admin/keys/${string}`]: typeof keys.ApiKeyStatus;
  '/admin/learning': typeof LearningStatus;
  '/admin/ledger': typeof ledger.LedgerStatus;
  '/admin/ledger/audit': typeof ledger.LedgerAudit;
  '/admin/logins': typeof logins.LoginList;
  '/admin/me': typeof logins.Me;
  '/admin/payments': typeof PaymentList;
  '/admin/models': typeof models.DetailedModelList;
  '/admin/policy': typeof policy.PolicyStatus;
  '/admin/policy/files': typeof policy.PolicyFiles;
  '/admin/policy/revisions': typeof policy.PolicyRevisions;
  [revision: `/admin/policy/revisions/${string}`]: typeof policy.PolicyRevision;
  '/admin/policy/schema': typeof policy.PolicyJsonSchema;
  '/admin/subjects': typeof subjects.SubjectList;
  [subject: `/admin/subjects/${string}`]: typeof subjects.Subject;
  '/admin/teams': typeof teams.TeamList;
  [team: `/admin/teams/${string}`]: typeof teams.TeamStatus;
  '/admin/traffic': typeof traffic.Traffic;
  '/admin/trail': typeof trail.KeyTrail;
  '/admin/trail/verify': typeof trail.TrailReport;
  '/admin/usage': typeof usage.AdminUsage;
  '/admin/users': typeof users.UserList;
  [user: `/admin/users/${string}`]: typeof users.UserStatus;
  [wallet: `/admin/wallets/${string}`]: typeof WalletStatus;
  [decision: `/admin/decisions/${string}`]: typeof Decision;
  [request: `/admin/requests/${string}`]: typeof FoundRequest;
}

/** Paths below a detail. Paths below a detail are listed separately, because the pattern of the detail would match these paths, too. */
interface PartSchemas {
  [content: `/admin/decisions/${string}/content`]: typeof decisions.KeptContent;
  [money: `/admin/decisions/${string}/money`]: typeof DecisionMoney;
  [repeat: `/admin/decisions/${string}/repeat`]: typeof DecisionRepeat;
}

export type ReadPath = keyof ReadSchemas | keyof PartSchemas;

type SchemaOf<Path extends ReadPath> = Path extends keyof PartSchemas
  ? PartSchemas[Path]
  : Path extends keyof ReadSchemas
    ? ReadSchemas[Path]
    : never;

/** The type of the response at a path: `ReadOf<'/admin/ledger'>`. */
export type ReadOf<Path extends ReadPath> = SchemaOf<Path> extends TSchema ? Static<SchemaOf<Path>> : never;
