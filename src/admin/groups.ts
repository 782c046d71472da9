import type { Call, Operation, Performed } from './kit/operation.ts';
import type { OfflineDatabase, OfflineServices, Part } from './offline.ts';

/** A group of operations that are also commands. */
export interface OperationGroup<Services = never> {
  /** Whether the answers without a server depend on a policy. */
  readonly usesPolicy: boolean;
  /** Loads the operations. A command loads only its own group. */
  readonly operations: () => Promise<readonly Operation<Services>[]>;
  /** Loads the operations, and opens the parts of a database that they need without a server. */
  readonly offline: (database: OfflineDatabase) => Promise<readonly BoundOperation[]>;
}

/** An operation with its services. */
interface BoundOperation {
  readonly operation: Operation;
  readonly perform: (call: Call, input: unknown) => Promise<Performed>;
}

/** Defines a group by the parts of a database that its operations need. The type checker refuses a group that lacks a part. */
const onParts =
  <const Name extends Part = never>(...parts: readonly Name[]) =>
  <Services>(
    operations: () => Promise<readonly (Operation<Services> & Operation<OfflineServices<Name>>)[]>,
  ): OperationGroup<Services> => ({
    usesPolicy: parts.some((part) => part === 'policy' || part === 'doctor'),
    operations,
    async offline(database) {
      const [all, services] = await Promise.all([
        operations(),
        import('./offline.ts').then(({ offlineServices }) => offlineServices(parts, database)),
      ]);
      return all.map((operation: Operation<OfflineServices<Name>>) => ({
        operation,
        perform: (call, input) => operation.perform(services, call, input),
      }));
    },
  });

/** The operations that are also commands, by the first word of the command, in the order of the help. */
export const GROUPS = {
  policy: onParts('pushes')(async () => [(await import('./policy.ts')).listPushed]),
  keys: onParts('keys', 'people', 'store')(async () => (await import('./keys.ts')).KEY_COMMANDS),
  ledger: onParts('ledger')(async () => (await import('./usage.ts')).LEDGER_COMMANDS),
  subjects: onParts('subjects')(async () => (await import('./subjects.ts')).SUBJECT_OPERATIONS),
  logins: onParts('logins')(async () => (await import('./logins.ts')).LOGIN_OPERATIONS),
  wallets: onParts('wallets')(async () => (await import('./wallets.ts')).WALLET_OPERATIONS),
  teams: onParts('keys', 'people')(async () => (await import('./teams.ts')).TEAM_OPERATIONS),
  users: onParts('keys', 'people')(async () => (await import('./users.ts')).USER_OPERATIONS),
  traffic: onParts('traffic')(async () => [(await import('./traffic.ts')).showTraffic]),
  trail: onParts('store')(async () => (await import('./trail.ts')).TRAIL_COMMANDS),
  instances: onParts()(async () => [(await import('./status.ts')).showCluster]),
  endpoints: onParts()(async () => [(await import('./status.ts')).listEndpoints]),
  doctor: onParts('doctor')(async () => [(await import('./doctor.ts')).runChecks]),
  alerts: onParts('policy')(async () => (await import('./alerts.ts')).ALERT_OPERATIONS),
  decisions: onParts('records')(async () => (await import('./decisions.ts')).DECISION_COMMANDS),
  guards: onParts('records')(async () => [(await import('./guards.ts')).listGuards]),
  cache: onParts('records')(async () => [(await import('./cache.ts')).showCache]),
  learn: onParts()(async () => [(await import('./learning.ts')).showLearning]),
};

/** The operations that only a server carries out. */
const SERVED = [
  async () => (await import('./policy.ts')).POLICY_OPERATIONS,
  async () => (await import('./policy-tools.ts')).POLICY_TOOLS,
  async () => [(await import('./policy-explain.ts')).explainRequested],
  async () => (await import('./ledger.ts')).AUDIT_OPERATIONS,
  async () => [(await import('./status.ts')).showStatus],
  async () => [(await import('./trail.ts')).verifyEntries],
  async () => (await import('./child-keys.ts')).CHILD_KEY_OPERATIONS,
  async () => (await import('./decisions.ts')).DECISION_OPERATIONS,
  async () => [(await import('./usage.ts')).exportUsage],
  async () => [(await import('./spend.ts')).showSpend],
  async () => [(await import('./usage.ts')).reportOwnUsage],
  async () => [(await import('./logins.ts')).showMe],
  async () => [(await import('./amount.ts')).convertAmount],
  async () => (await import('./payments.ts')).PAYMENT_OPERATIONS,
  async () => [(await import('./wallets.ts')).showOwnWallet],
];

type Loader = (typeof GROUPS)[keyof typeof GROUPS]['operations'] | (typeof SERVED)[number];

/** Infers what all operations together need: one service for each name. */
type Needed<Each> = (
  Each extends () => Promise<readonly Operation<infer Services>[]>
    ? (services: Services) => void
    : never
) extends (services: infer All) => void
  ? All
  : never;

/** The services of all operations, which a server has. */
export type ServedServices = Needed<Loader>;

/** Loads all operations, sorted by path. An operation with two commands is in the list once. */
export async function everyOperation(): Promise<readonly Operation<ServedServices>[]> {
  const loaders: readonly (() => Promise<readonly Operation<ServedServices>[]>)[] = [
    ...Object.values(GROUPS).map(({ operations }) => operations),
    ...SERVED,
  ];
  const lists = await Promise.all(loaders.map((load) => load()));
  const all = new Map(lists.flat().map((operation) => [operation.http, operation]));
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
