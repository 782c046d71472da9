import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Authentication } from '../access/key-entry.ts';
import type { Keys } from '../access/keys.ts';
import type { Levels } from '../access/levels.ts';
import type { Gate } from '../access/limits/gate.ts';
import type { NewestLimits } from '../access/limits/newest.ts';
import type { SignIn } from '../access/sign-in/sign-in.ts';
import type { Tokens } from '../access/tokens/tokens.ts';
import type { AlertServices } from '../admin/alerts.ts';
import type { DoctorServices } from '../admin/doctor.ts';
import type { ServedServices } from '../admin/groups.ts';
import type { Operation } from '../admin/kit/operation.ts';
import type { LearningServices } from '../admin/learning.ts';
import type { PolicyServices } from '../admin/policy.ts';
import type { StatusServices } from '../admin/status.ts';
import type { TrailVerifier } from '../admin/trail.ts';
import type { ChildKeys } from '../admin/use-cases/child-keys.ts';
import type { MoneySources } from '../admin/use-cases/decision-money.ts';
import type { GrantStore, KeyAdmin } from '../admin/use-cases/keys.ts';
import type { ServerAudits } from '../admin/use-cases/ledger/audit.ts';
import type { LoginDesk } from '../admin/use-cases/logins.ts';
import type { PeopleDesk } from '../admin/use-cases/people.ts';
import type { PolicyAdmin } from '../admin/use-cases/policy/serving.ts';
import type { SubjectSource } from '../admin/use-cases/subjects.ts';
import type { TrafficSources } from '../admin/use-cases/traffic/traffic.ts';
import type { Surface } from '../dialects/surface.ts';
import type { Observer } from '../gateway/request/observe/observer.ts';
import type { StepChoice } from '../gateway/request/steps.ts';
import type { RateStore } from '../store/rates.ts';
import type { BuiltConsole } from './console/built.ts';
import type { EventFeed } from './event-feed.ts';
import type { StoreHealth } from './health.ts';
import type { KeptConversations } from './kit/kept-conversations.ts';
import type { X402Gateway } from './x402/services.ts';

/** Status that only the running process knows. */
export type ServerStatus = StatusServices & LearningServices;

/** The services that the HTTP edge of a server uses. */
export interface AppOptions {
  readonly gateway: X402Gateway;
  /** Steps that are added to the steps of requests; absent for none. */
  readonly steps?: StepChoice | undefined;
  /** The operations of operators, each with a route. */
  readonly operations: readonly Operation<ServedServices>[];
  /** The dialects that callers may speak. */
  readonly surfaces: readonly Surface[];
  readonly policy: PolicyAdmin;
  readonly keys: KeyAdmin & ChildKeys & Pick<Keys, 'actAs' | 'find' | 'import'>;
  readonly desk: PolicyServices['desk'];
  readonly people: PeopleDesk;
  readonly idempotency: Idempotency;
  /** The store. The store keeps Credits that operators grant to wallets, and its health decides about readiness. */
  readonly store: GrantStore & StoreHealth & SubjectSource['store'] & TrafficSources['store'] & MoneySources['store'];
  /** Rate limits that the servers share; absent if only this process counts. */
  readonly shared?: { readonly rates: RateStore; readonly newest: NewestLimits } | undefined;
  /** The running conversations; absent if every body is parsed whole. */
  readonly conversations?: KeptConversations | undefined;
  readonly alerts: AlertServices['alerts'];
  authenticate(header: string | null): Authentication;
  readonly signIn: SignIn;
  /** Returns the files of the console; null if the console is not built. */
  built(): BuiltConsole | null;
  readonly logins: LoginDesk;
  readonly tokens: Tokens;
  readonly trailHeads?: TrailVerifier['trailHeads'];
  /** Adds the terms of their levels to callers; absent if the policy has no levels. */
  readonly levels?: Pick<Levels, 'of'>;
  /** The version and commit of this build, for `x-signalbox-version`. */
  readonly version: string;
  readonly observer: Observer;
  /** The events of this server, for `GET /admin/events`. */
  readonly feed: EventFeed;
  readonly gate: Gate;
  /** The maximum size of a WebSocket message, in bytes. */
  readonly socketBytesMax: number;
  /** Seconds after which a client that does not read its stream is disconnected; `STALLED_S` by default. */
  readonly stalledS?: number | undefined;
  readonly status: ServerStatus;
  readonly audits: ServerAudits;
  readonly doctor: DoctorServices['doctor'];
  /** Makes the page at `/metrics`; null if metrics are off. */
  readonly metrics: (() => string) | null;
}

/** Leaves callers unchanged, for a policy without levels. */
export const NO_LEVELS: Pick<Levels, 'of'> = { of: (caller) => caller };
