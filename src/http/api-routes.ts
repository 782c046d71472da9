import { Elysia } from 'elysia';
import { ALERT_OPERATIONS } from '../admin/alerts.ts';
import { type CacheServices, showCache } from '../admin/cache.ts';
import { CHILD_KEY_OPERATIONS } from '../admin/child-keys.ts';
import { DECISION_COMMANDS, DECISION_OPERATIONS, type DecisionReader, type RequestReader } from '../admin/decisions.ts';
import { type DoctorServices, runChecks } from '../admin/doctor.ts';
import { type GuardServices, listGuards } from '../admin/guards.ts';
import { KEY_OPERATIONS } from '../admin/keys.ts';
import { showLearning } from '../admin/learning.ts';
import { AUDIT_OPERATIONS, showLedger } from '../admin/ledger.ts';
import { LOGIN_OPERATIONS, showMe } from '../admin/logins.ts';
import { listPushed, POLICY_OPERATIONS, type PolicyServices } from '../admin/policy.ts';
import { explainRequested } from '../admin/policy-explain.ts';
import { POLICY_TOOLS } from '../admin/policy-tools.ts';
import { STATUS_OPERATIONS } from '../admin/status.ts';
import { SUBJECT_OPERATIONS } from '../admin/subjects.ts';
import { type PeopleServices, TEAM_OPERATIONS } from '../admin/teams.ts';
import { showTraffic } from '../admin/traffic.ts';
import { TRAIL_OPERATIONS } from '../admin/trail.ts';
import { exportUsage, reportOwnUsage, reportUsage } from '../admin/usage.ts';
import { servedKeyFunds } from '../admin/use-cases/key-funds.ts';
import { overviewOf, subjectOf, usesOf } from '../admin/use-cases/ledger/status.ts';
import { type Owners, ownersIn } from '../admin/use-cases/people.ts';
import { Places } from '../admin/use-cases/places.ts';
import type { Principal } from '../admin/use-cases/principal.ts';
import type { Sight } from '../admin/use-cases/sight.ts';
import type { SubjectSource } from '../admin/use-cases/subjects.ts';
import type { FilterNames } from '../admin/use-cases/unknown-names.ts';
import { type HolderNames, namesFor, ownUsage, servedUsage, type UsageQuery } from '../admin/use-cases/usage.ts';
import { USER_OPERATIONS } from '../admin/users.ts';
import type { Caller } from '../core/people/caller.ts';
import type { KeyInfo } from '../store/keys.ts';
import { type AppOptions, NO_LEVELS, type ServerStatus } from './app-options.ts';
import type { LoginDoor } from './console/login-door.ts';
import { consoleRoutes } from './console/routes.ts';
import { signInRoutes } from './console/sign-in.ts';
import { eventRoutes } from './events.ts';
import { feedbackRoutes } from './feedback.ts';
import { healthRoutes } from './health.ts';
import { operationRoutes } from './kit/operations.ts';
import type { RouteServices } from './kit/route-services.ts';
import { metricsRoutes } from './metrics.ts';
import { adminModelRoutes, modelRoutes } from './models.ts';
import { playgroundRoutes } from './playground.ts';
import { trailExportRoutes } from './trail.ts';
import { x402Routes } from './x402/routes.ts';
import type { X402Gateway } from './x402/services.ts';

const subjectSource = ({ payments, log, now }: X402Gateway, store: AppOptions['store']): SubjectSource => ({
  store,
  log,
  now,
  blocklist: payments.blocklist,
});

/**
 * A search reads keys until its page is full, so its number is limited. Operators have no limit for themselves, because several programs
 * may share their key.
 */
const KEY_SEARCHES = {
  own: 1,
  all: 16,
  ownTaken: 'Your previous search for keys is still running. Send the next search when it has finished.',
  allTaken: 'The server is running 16 searches for keys, which is its limit. Try again later.',
} as const;

const ownersOf =
  ({ people }: Pick<AppOptions, 'people'>) =>
  (by: Principal, stated: Owners) =>
    ownersIn(people.people, by, stated);

const keyServices = (services: RouteServices, { keys, people, store }: AppOptions) => ({
  ...services,
  keys,
  store,
  people: people?.people,
  searches: new Places(KEY_SEARCHES),
  fundsOf: (info: KeyInfo, now: number) =>
    servedKeyFunds(services.gateway.ledger, info, now, services.gateway.lease().snapshot.usdPerCredit),
  checkLedger: async () => {},
  refresh: () => services.gateway.ledger.refresh(),
});

function ledgerServices(services: RouteServices, { people }: AppOptions) {
  const { gateway } = services;
  const { ledger, lease } = gateway;
  const names = ({ caller }: Principal) => namesFor(caller, people.people);
  return {
    ...services,
    namesFor: names,
    ownersOf: ownersOf({ people }),
    usdPerCredit: () => lease().snapshot.usdPerCredit,
    overview: (by: Principal) => overviewOf(by, ledger, lease().snapshot, services.sightOf(by), names(by)),
    report: (by: Principal, query: UsageQuery, sight: Sight) => servedUsage(by, ledger, sight, query),
  };
}

const peopleServices = (services: RouteServices, { people }: AppOptions): RouteServices & PeopleServices => ({
  ...services,
  ...people,
  usesOf: (holder, budgets) => services.gateway.ledger.budgetUses(holder, budgets),
  teamPlaces: () => services.gateway.lease().snapshot.teamPlaces,
});

function ownUsageServices(services: RouteServices, options: AppOptions) {
  const { ledger, lease } = services.gateway;
  return {
    ...services,
    ownReport: (by: Principal, query: Parameters<typeof ownUsage>[2]) => ownUsage(by, ledger, query),
    fundsOf({ caller }: Principal) {
      const { selectors, models } = lease().snapshot;
      const { keys, people } = options;
      const funds = usesOf(ledger, ledger.fundsOf(caller, [...selectors.keys(), ...models.map(({ id }) => id)]));
      // A caller sees the names of itself, its team and its user.
      const nameOf = (id: string) => (id === caller.keyId ? (keys.known(id)?.name ?? null) : null);
      const names: HolderNames = (kind, id) => (id === caller[kind] ? people.people[kind](id)?.name || null : null);
      return funds.map((use) => ({ ...use, ...subjectOf(use.title, { nameOf }, names) }));
    },
  };
}

const filterNames = ({ keys, people }: Pick<AppOptions, 'keys' | 'people'>): FilterNames => ({
  key: {
    has: async (text) => (await keys.named([text])).size > 0 || (await keys.idsOf({ name: text })).length > 0,
    names: () => keys.idsWhere(() => true).map((id) => keys.known(id)?.name ?? ''),
  },
  team: {
    has: (text) => people.people.team(text) !== null || people.people.teamNamed(text) !== null,
    names: () => people.people.teams().map(({ name }) => name),
  },
});

const decisionServices = (services: RouteServices, { keys, people, store, levels = NO_LEVELS }: AppOptions) => ({
  ...services,
  ownersOf: ownersOf({ people }),
  store,
  people: {
    team: (id: string) => people.people.team(id),
    user: (id: string) => people.people.user(id),
  },
  records: services.gateway.records,
  filterNames: filterNames({ keys, people }),
  levelsOf: (caller: Caller) => levels.of(caller),
});

const VERIFICATIONS = {
  own: 1,
  all: 1,
  ownTaken: 'Your previous verification is still running. Send the next one when it has finished.',
  allTaken: 'Another verification of the audit trail is running. Try again when it has finished.',
} as const;

/** An export reads the whole journal, and holds one page of it in memory. */
const EXPORTS = {
  own: 2,
  all: 8,
  ownTaken: 'You are running 2 exports, which is the limit for one user or key. Read one export to its end first.',
  allTaken: 'The server is running 8 exports of charges, which is its limit. Try again later.',
} as const;

/** A count reads up to 100,000 records. */
const REQUEST_COUNTS = {
  own: 4,
  all: 8,
  ownTaken:
    'You are running 4 counts of requests, which is the limit for one user or key. Wait until one has finished.',
  allTaken: 'The server is running 8 counts of requests, which is its limit. Try again later.',
} as const;

const trailServices = (services: RouteServices, { store, trailHeads = () => [] }: AppOptions) => ({
  ...services,
  store,
  trailHeads,
  verifications: new Places(VERIFICATIONS),
});

/** All routes of the API except the routes that call models. */
export const apiRoutes = (
  services: RouteServices,
  door: LoginDoor,
  countFailure: (request: Request) => void,
  options: AppOptions,
) => {
  const { gateway, policy, desk, keys, store, metrics, status, alerts, signIn, built, logins } = options;
  return new Elysia({ name: 'api' })
    .use(healthRoutes(gateway, policy, store))
    .use(metricsRoutes(metrics))
    .use(
      operationRoutes<PolicyServices>('policy', [...POLICY_OPERATIONS, ...POLICY_TOOLS, explainRequested, listPushed], {
        ...services,
        policy,
        desk,
      }),
    )
    .use(
      operationRoutes('alerts', ALERT_OPERATIONS, {
        ...services,
        alerts,
        alertPolicy: () => gateway.lease().snapshot.alerts,
      }),
    )
    .use(operationRoutes('ledger', [showLedger], ledgerServices(services, options)))
    .use(operationRoutes('audits', AUDIT_OPERATIONS, { ...services, audits: options.audits }))
    .use(
      operationRoutes<ServerStatus & DoctorServices>('status', [...STATUS_OPERATIONS, showLearning, runChecks], {
        ...services,
        ...status,
        doctor: options.doctor,
      }),
    )
    .use(operationRoutes('keys', KEY_OPERATIONS, keyServices(services, options)))
    .use(operationRoutes('trail', TRAIL_OPERATIONS, trailServices(services, options)))
    .use(trailExportRoutes({ ...services, store }))
    .use(operationRoutes('child keys', CHILD_KEY_OPERATIONS, { ...services, keys }))
    .use(operationRoutes('teams', TEAM_OPERATIONS, peopleServices(services, options)))
    .use(operationRoutes('users', USER_OPERATIONS, peopleServices(services, options)))
    .use(modelRoutes(services, options.surfaces))
    .use(adminModelRoutes(services))
    .use(
      operationRoutes<DecisionReader & RequestReader & GuardServices & CacheServices>(
        'decisions',
        [...DECISION_COMMANDS, listGuards, showCache],
        {
          ...decisionServices(services, options),
          guards: () => gateway.lease().snapshot.guards,
          get guardHealth() {
            return options.status.guardHealth;
          },
          counts: new Places(REQUEST_COUNTS),
          cachePolicy: () => gateway.lease().snapshot.cache,
          cachedAnswers: gateway.cache,
        },
      ),
    )
    .use(operationRoutes('one decision', DECISION_OPERATIONS, decisionServices(services, options)))
    .use(feedbackRoutes(services))
    .use(eventRoutes({ ...services, feed: options.feed, judges: { ...options, door } }))
    .use(playgroundRoutes({ ...services, keys }))
    .use(operationRoutes('usage', [reportUsage], ledgerServices(services, options)))
    .use(
      operationRoutes('usage export', [exportUsage], {
        ...ledgerServices(services, options),
        store,
        exports: new Places(EXPORTS),
      }),
    )
    .use(operationRoutes('own usage', [reportOwnUsage], ownUsageServices(services, options)))
    .use(operationRoutes('traffic', [showTraffic], { ...ledgerServices(services, options), store }))
    .use(operationRoutes('logins', [showMe, ...LOGIN_OPERATIONS], { ...services, desk: logins }))
    .use(signInRoutes({ ...services, signIn, door, built, countFailure }))
    .use(consoleRoutes({ signIn, door, built }))
    .use(
      operationRoutes('subjects', SUBJECT_OPERATIONS, { ...services, subjects: () => subjectSource(gateway, store) }),
    )
    .use(x402Routes({ ...services, gateway, store }));
};
