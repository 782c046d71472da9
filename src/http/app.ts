import { type AnyElysia, Elysia, type HTTPHeaders } from 'elysia';
import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Authentication } from '../access/key-entry.ts';
import type { Keys } from '../access/keys.ts';
import type { Levels } from '../access/levels.ts';
import type { Gate } from '../access/limits/gate.ts';
import { Limiter } from '../access/limits/limiter.ts';
import type { NewestLimits } from '../access/limits/newest.ts';
import { LIMIT_HEADERS } from '../access/limits/refusal.ts';
import { SharedCounts } from '../access/limits/shared-counts.ts';
import type { SignIn } from '../access/sign-in/sign-in.ts';
import type { Tokens } from '../access/tokens/tokens.ts';
import { ALERT_OPERATIONS, type AlertServices } from '../admin/alerts.ts';
import { CHILD_KEY_OPERATIONS } from '../admin/child-keys.ts';
import { DECISION_OPERATIONS, listRecords } from '../admin/decisions.ts';
import { KEY_OPERATIONS } from '../admin/keys.ts';
import { type LearningServices, showLearning } from '../admin/learning.ts';
import { AUDIT_OPERATIONS, showLedger } from '../admin/ledger.ts';
import { LOGIN_OPERATIONS, showMe } from '../admin/logins.ts';
import { listPushed, POLICY_OPERATIONS, type PolicyServices } from '../admin/policy.ts';
import { explainRequested } from '../admin/policy-explain.ts';
import { POLICY_TOOLS } from '../admin/policy-tools.ts';
import { STATUS_OPERATIONS, type StatusServices } from '../admin/status.ts';
import { SUBJECT_OPERATIONS } from '../admin/subjects.ts';
import { type PeopleServices, TEAM_OPERATIONS } from '../admin/teams.ts';
import { showTraffic } from '../admin/traffic.ts';
import { TRAIL_OPERATIONS, type TrailVerifier } from '../admin/trail.ts';
import { reportOwnUsage, reportUsage } from '../admin/usage.ts';
import type { ChildKeys } from '../admin/use-cases/child-keys.ts';
import type { MoneySources } from '../admin/use-cases/decision-money.ts';
import { servedKeyFunds } from '../admin/use-cases/key-funds.ts';
import type { GrantStore, KeyAdmin } from '../admin/use-cases/keys.ts';
import type { ServerAudits } from '../admin/use-cases/ledger/audit.ts';
import { overviewOf, usesOf } from '../admin/use-cases/ledger/status.ts';
import type { LoginDesk } from '../admin/use-cases/logins.ts';
import type { PeopleDesk } from '../admin/use-cases/people.ts';
import { Places } from '../admin/use-cases/places.ts';
import type { PolicyAdmin } from '../admin/use-cases/policy/serving.ts';
import { operatorAs, type Principal } from '../admin/use-cases/principal.ts';
import { type Sight, sightOf } from '../admin/use-cases/sight.ts';
import type { SubjectSource } from '../admin/use-cases/subjects.ts';
import type { TrafficSources } from '../admin/use-cases/traffic/traffic.ts';
import { namesFor, ownUsage, servedUsage, type UsageQuery } from '../admin/use-cases/usage.ts';
import { USER_OPERATIONS } from '../admin/users.ts';
import type { Caller } from '../core/caller.ts';
import type { Surface } from '../dialects/surface.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { Observer } from '../gateway/request/observe/observer.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { RateStore } from '../store/rates.ts';
import { wholeAddress } from './address.ts';
import { type AdmissionRules, admit, countFailedAuth, readmit } from './admission.ts';
import { readBody } from './body.ts';
import { BodyPace } from './body-pace.ts';
import { BodyReader } from './body-reading.ts';
import { changesOnce } from './changes-once.ts';
import type { BuiltConsole } from './console/built.ts';
import { type LoginDoor, loginDoor } from './console/login-door.ts';
import { consoleRoutes } from './console/routes.ts';
import { signInRoutes } from './console/sign-in.ts';
import { answerOrigin, CORS_HEADERS, preflightRefusal } from './cors.ts';
import { countTokensRoutes } from './count-tokens.ts';
import { DailyChanges } from './daily-changes.ts';
import { dialectFor } from './dialects.ts';
import { openApiDocument } from './docs/openapi.ts';
import { docsRoutes } from './docs/page.ts';
import { errorResponse, publicError } from './errors.ts';
import type { EventFeed } from './event-feed.ts';
import { eventRoutes } from './events.ts';
import { feedbackRoutes } from './feedback.ts';
import { healthRoutes, type StoreHealth } from './health.ts';
import { HeldRequests } from './held-requests.ts';
import { metricsRoutes } from './metrics.ts';
import { modelRoutes } from './models.ts';
import { operationRoutes } from './operations.ts';
import { operatorOf } from './operator-socket.ts';
import { playgroundRoutes } from './playground.ts';
import { recommendRoutes } from './recommend.ts';
import { requestContexts } from './request-contexts.ts';
import { type EdgeServer, type RequestCarrier, type RouteServices, STALLED_S } from './route-services.ts';
import { pathOf, RouteTable, routeRules } from './routes.ts';
import { Sockets } from './sockets.ts';
import { surfaceRoutes } from './surface-routes.ts';
import { surfaceSocket, type Upgrader } from './surface-socket.ts';
import { principalOf } from './terms.ts';
import { trailExportRoutes } from './trail.ts';
import { x402Routes } from './x402/routes.ts';
import type { X402Gateway } from './x402/services.ts';

/** What only the running process knows of itself. */
export type ServerStatus = StatusServices & LearningServices;

export interface AppOptions {
  readonly gateway: X402Gateway;
  /** The dialects that callers may speak. */
  readonly surfaces: readonly Surface[];
  readonly policy: PolicyAdmin;
  readonly keys: KeyAdmin & ChildKeys & Pick<Keys, 'actAs'>;
  readonly desk: PolicyServices['desk'];
  readonly people: PeopleDesk;
  readonly idempotency: Idempotency;
  /** Takes the credits that operators give to wallets; readiness depends on its health. */
  readonly store: GrantStore & StoreHealth & SubjectSource['store'] & TrafficSources['store'] & MoneySources['store'];
  /** The limits that instances share; absent where this process alone counts. */
  readonly shared?: { readonly rates: RateStore; readonly newest: NewestLimits } | undefined;
  readonly alerts: AlertServices['alerts'];
  authenticate(header: string | null): Authentication;
  readonly signIn: SignIn;
  /** The files of `/console`; null where they are not built. */
  built(): BuiltConsole | null;
  readonly logins: LoginDesk;
  readonly tokens: Tokens;
  readonly trailHeads?: TrailVerifier['trailHeads'];
  /** Puts the terms of their levels to callers; absent where there are none. */
  readonly levels?: Pick<Levels, 'of'>;
  /** The build that answers, for `x-signalbox-version`. */
  readonly version: string;
  readonly observer: Observer;
  /** What happens here, for those who follow it. */
  readonly feed: EventFeed;
  readonly gate: Gate;
  /** Bytes of the largest message of a WebSocket. */
  readonly socketBytesMax: number;
  /** Seconds after which a client that reads nothing of a stream is disconnected; `STALLED_S` unless given. */
  readonly stalledS?: number | undefined;
  readonly status: ServerStatus;
  readonly audits: ServerAudits;
  /** Makes the page at `/metrics`; null where it is switched off. */
  readonly metrics: (() => string) | null;
}

/** Values that any body may hold, beside those of the messages and tools that the policy allows. */
const VALUES_MIN = 20_000;

/** Headers of an answer that an error has, too. */
const ERROR_HEADERS = [
  'x-request-id',
  'x-signalbox-version',
  'x-signalbox-decision-id',
  'x-signalbox-credits',
  'x-signalbox-given-back',
  'x-signalbox-replayed',
  'cache-control',
  ...CORS_HEADERS,
  ...LIMIT_HEADERS,
];

const errorHeaders = (headers: HTTPHeaders, { headerNames }: Gateway['funding']): Record<string, string> =>
  Object.fromEntries(
    [...ERROR_HEADERS, ...headerNames].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, String(headers[name])]],
    ),
  );

/** The status that a handler has set as a number, or 200. */
const statusOf = (status: number | string | undefined): number => (typeof status === 'number' ? status : 200);

/** Values that a body may hold, by the active policy. */
function valuesMaxOf({ lease }: Gateway): number {
  const { messagesMax, toolsMax } = lease().snapshot.gateway;
  return VALUES_MIN + 16 * messagesMax + 64 * toolsMax;
}

/** The routes that every request of an application takes: they read their bodies themselves. */
const requestRoutes = (services: RouteServices, { surfaces }: AppOptions, upgrader: () => Upgrader | null) =>
  new Elysia({ name: 'requests' })
    .use(surfaces.map((surface) => surfaceRoutes(services, surface)))
    .use(surfaces.filter(({ dialogue }) => dialogue).map((surface) => surfaceSocket(services, surface, upgrader)))
    .use(countTokensRoutes(services))
    .use(recommendRoutes(services));

const subjectSource = ({ payments, log, now }: X402Gateway, store: AppOptions['store']): SubjectSource => ({
  ...{ store, log, now },
  blocklist: payments.blocklist,
});

/** A search reads keys until its page is full. Operators have no such limit: their programs may share a key. */
const KEY_SEARCHES = {
  own: 1,
  all: 16,
  ownTaken: 'A search of yours for keys is still running. Send the next one once it is done.',
  allTaken: '16 searches for keys are running, which is the limit of the server. Try again later.',
} as const;

const keyServices = (services: RouteServices, { keys, people, store }: AppOptions) => ({
  ...services,
  ...{ keys, store },
  people: people?.people,
  searches: new Places(KEY_SEARCHES),
  fundsOf: (info: KeyInfo) =>
    servedKeyFunds(services.gateway.ledger, info, services.gateway.lease().snapshot.usdPerCredit),
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
    usdPerCredit: () => lease().snapshot.usdPerCredit,
    overview: (by: Principal) => overviewOf(by, ledger, lease().snapshot.usdPerCredit, services.sightOf(by), names(by)),
    report: (by: Principal, query: UsageQuery, sight: Sight) => servedUsage(by, ledger, sight, query),
  };
}

const peopleServices = (services: RouteServices, { people }: AppOptions): RouteServices & PeopleServices => ({
  ...services,
  ...people,
  usesOf: (holder, budgets) => services.gateway.ledger.budgetUses(holder, budgets),
  teamPlaces: () => services.gateway.lease().snapshot.teamPlaces,
});

function ownUsageServices(services: RouteServices) {
  const { ledger, lease } = services.gateway;
  return {
    ...services,
    ownReport: (by: Principal, query: Parameters<typeof ownUsage>[2]) => ownUsage(by, ledger, query),
    fundsOf({ caller }: Principal) {
      const { selectors, models } = lease().snapshot;
      return usesOf(ledger, ledger.fundsOf(caller, [...selectors.keys(), ...models.map(({ id }) => id)]));
    },
  };
}

const decisionServices = (services: RouteServices, { store, levels = NO_LEVELS }: AppOptions) => ({
  ...services,
  ...{ store, records: services.gateway.records },
  levelsOf: (caller: Caller) => levels.of(caller),
});

const VERIFICATIONS = {
  own: 1,
  all: 1,
  ownTaken: 'A verification of yours is still running. Send the next one once it is done.',
  allTaken: 'Another verification of the trail is running. Try again once it is done.',
} as const;

const trailServices = (services: RouteServices, { store, trailHeads = () => [] }: AppOptions) => ({
  ...services,
  ...{ store, trailHeads },
  verifications: new Places(VERIFICATIONS),
});

/** All other routes of the API. */
const otherRoutes = (
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
        ...{ ...services, policy, desk },
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
    .use(operationRoutes<ServerStatus>('status', [...STATUS_OPERATIONS, showLearning], { ...services, ...status }))
    .use(operationRoutes('keys', KEY_OPERATIONS, keyServices(services, options)))
    .use(operationRoutes('trail', TRAIL_OPERATIONS, trailServices(services, options)))
    .use(trailExportRoutes({ ...services, store }))
    .use(operationRoutes('child keys', CHILD_KEY_OPERATIONS, { ...services, keys }))
    .use(operationRoutes('teams', TEAM_OPERATIONS, peopleServices(services, options)))
    .use(operationRoutes('users', USER_OPERATIONS, peopleServices(services, options)))
    .use(modelRoutes(services))
    .use(operationRoutes('decisions', [listRecords], decisionServices(services, options)))
    .use(operationRoutes('one decision', DECISION_OPERATIONS, decisionServices(services, options)))
    .use(feedbackRoutes(services))
    .use(eventRoutes({ ...services, feed: options.feed, judges: { ...options, door } }))
    .use(playgroundRoutes({ ...services, keys }))
    .use(operationRoutes('usage', [reportUsage], ledgerServices(services, options)))
    .use(operationRoutes('own usage', [reportOwnUsage], ownUsageServices(services)))
    .use(operationRoutes('traffic', [showTraffic], { ...ledgerServices(services, options), store }))
    .use(operationRoutes('logins', [showMe, ...LOGIN_OPERATIONS], { ...services, desk: logins }))
    .use(signInRoutes({ ...services, signIn, door, built, countFailure }))
    .use(consoleRoutes({ signIn, door, built }))
    .use(
      operationRoutes('subjects', SUBJECT_OPERATIONS, { ...services, subjects: () => subjectSource(gateway, store) }),
    )
    .use(x402Routes({ ...services, gateway, store }));
};

const NO_LEVELS: Pick<Levels, 'of'> = { of: (caller) => caller };

function limiterOf({ gateway: { clock }, shared, gate }: AppOptions): Limiter {
  const counts = shared && new SharedCounts(shared.rates, () => Math.floor(clock()), gate.timers);
  return new Limiter(clock, undefined, counts && { counts, newest: shared.newest });
}

const admissionRules = (
  options: AppOptions,
  routes: RouteTable,
  logins: LoginDoor,
  senderOf: AdmissionRules['senderOf'],
  changes: DailyChanges,
): AdmissionRules => {
  const { gateway, authenticate, keys, tokens, levels = NO_LEVELS, gate } = options;
  return {
    routes,
    authenticate,
    senderOf,
    actAs: (id) => keys.actAs(id),
    tokens,
    policy: () => gateway.lease().snapshot,
    funding: gateway.funding,
    limiter: limiterOf(options),
    levels,
    gate,
    changes,
    logins,
    refusePreflight: preflightRefusal(gateway.log),
  };
};

/** The server as requests see it: those that came over a connection of another request go by their carrier. */
function edgeOf(app: AnyElysia) {
  const carriers = new WeakMap<Request, RequestCarrier>();
  const server: EdgeServer = {
    requestIP: (request) => carriers.get(request) ?? app.server?.requestIP(request) ?? null,
    timeout: (request, seconds) => {
      const carrier = carriers.get(request);
      if (carrier) carrier.timeout(seconds);
      else app.server?.timeout(request, seconds);
    },
  };
  const handle: RouteServices['handle'] = async (request, carrier) => {
    carriers.set(request, carrier);
    return await app.handle(request);
  };
  const senderOf = (request: Request) => carriers.get(request)?.sender ?? null;
  return { server: () => app.server && server, handle, senderOf };
}

function servicesOf(
  options: AppOptions,
  contextOf: RouteServices['contextOf'],
  edge: Pick<RouteServices, 'server' | 'handle'>,
  door: LoginDoor,
  rules: () => AdmissionRules,
): RouteServices {
  const { gateway, idempotency, keys, tokens } = options;
  const sources = { keys, policy: () => gateway.lease().snapshot };
  const reading = { reader: new BodyReader(gateway.clock), pace: new BodyPace(options.gate) };
  const addressOf = (request: Request) =>
    wholeAddress(request, edge.server(), gateway.lease().snapshot.gateway.trustedProxies);
  return {
    gateway,
    idempotency,
    answerSecretOf: (id) => tokens.answerSecretOf(id),
    contextOf,
    addressOf,
    readmit: (request, context) => readmit(request, rules(), edge.server(), context),
    callerOf: (request) => contextOf(request).knownCaller,
    teamIdOf: (text) => options.people?.people.teamNamed(text)?.id ?? text,
    sightOf: ({ caller }) => sightOf(caller, sources),
    principalOf: (request) => {
      const operator = operatorOf(request);
      if (operator) return operatorAs(operator);
      return principalOf(contextOf(request), addressOf(request), door.loginOf(request)?.login.id);
    },
    bodyOf: (request, context) => readBody(request, reading, valuesMaxOf(gateway), context),
    handle: edge.handle,
    sockets: new Sockets(options, gateway.clock, () => gateway.lease().snapshot.gateway),
    stalledS: options.stalledS ?? STALLED_S,
    server: edge.server,
  };
}

/**
 * The whole HTTP edge. `onRequest` admits before a byte of the body is read (validation would run
 * before any later hook), and the one error mapping stands at the root. `normalize` is off: it
 * would mend and strip bodies before they are checked.
 */
export function createApp(options: AppOptions) {
  const { gateway, surfaces, version, observer } = options;
  const { open, of: contextOf } = requestContexts(observer);
  // Otherwise a host of up to three characters, such as `gw`, loses the start of every path.
  const handler = { standardHostname: false };
  const app = new Elysia({ normalize: false, name: 'signalbox', handler });
  const door = loginDoor(options.signIn, () => gateway.lease().snapshot, options.levels);
  const edge = edgeOf(app);
  const services = servicesOf(options, contextOf, edge, door, () => rules);
  const requests = requestRoutes(services, options, () => app.server);
  // The rules know the routes, which are made before them.
  const countFailure = (request: Request) => countFailedAuth(request, rules, services.server());
  const others = otherRoutes(services, door, countFailure, options);
  const pages = docsRoutes(() => openApiDocument(version, new Elysia().use(others).use(requests), surfaces));
  const routes = new RouteTable(routeRules([...others.routes, ...requests.routes, ...pages.routes]));
  const changes = new DailyChanges(gateway.clock);
  const rules = admissionRules(options, routes, door, edge.senderOf, changes);
  const held = new HeldRequests((request) => app.handle(request));
  const once = changesOnce({ ...services, routes, changes, pass: (request, end) => held.hold(request, end) });
  return (
    app
      .onRequest(({ request, set }) => {
        const route = routes.find(pathOf(request.url));
        const isBack = held.isBack(request);
        const context = isBack ? contextOf(request) : open(request, route);
        set.headers['x-request-id'] = context.requestId;
        if (route?.anyDialect) {
          const { requestIdHeader } = dialectFor(request, route, surfaces);
          if (requestIdHeader) set.headers[requestIdHeader] = context.requestId;
        }
        set.headers['x-signalbox-version'] = version;
        if (gateway.isLeaving) set.headers.connection = 'close';
        // A shared computer's browser keeps none of what a login was shown.
        if (route?.path.startsWith('/admin/')) set.headers['cache-control'] = 'no-store';
        const { gateway: policy } = gateway.lease().snapshot;
        const answer = policy.corsOrigins.size > 0 ? answerOrigin(request, route, policy, set.headers) : null;
        let early: Response | Promise<Response> | undefined;
        if (answer) {
          context.handled(answer.status, null);
          early = answer;
        } else {
          const admission = isBack ? held.release(request) : admit(request, rules, services.server(), context);
          if (!admission) context.addLimitHeaders(set.headers);
          const answering = admission ? held.hold(request, admission) : once.answerTo(request, context, set.headers);
          if (answering) {
            set.headers = {};
            early = answering;
          }
        }
        // No call stands in a `return`: by that Elysia would take the hook for an asynchronous one, and wait in every request.
        return early;
      })
      // Admission reads the path before the router does. Where they disagree, the route stays shut.
      .onTransform({ as: 'global' }, ({ request, route }) => {
        const entry = routes.find(route);
        const context = contextOf(request);
        if (entry?.isOpen || (context.isAdmitted && context.route === entry?.path)) return;
        throw new Error(`${route} was not the route that was admitted`);
      })
      .onAfterHandle({ as: 'global' }, ({ request, set, responseValue }) => {
        const status = responseValue instanceof Response ? responseValue.status : statusOf(set.status);
        contextOf(request).handled(status, null);
      })
      .onError({ as: 'global' }, ({ error, set, request }) => {
        const context = contextOf(request);
        const known = publicError(error, (defect) => {
          const stack = defect instanceof Error ? defect.stack : String(defect);
          const { requestId, method } = context;
          gateway.log.error('a request failed: internal error', { request: requestId, method, stack });
        });
        context.handled(known.status, known.code);
        // After an internal error, something may have changed.
        if (known.status < 500) changes.giveBack(request);
        const dialect = dialectFor(request, routes.at(context.route), surfaces);
        return errorResponse(known, dialect, errorHeaders(set.headers, gateway.funding));
      })
      .use(requests)
      // Behind those routes, which would pay for Elysia's parsing without using it.
      .onParse({ as: 'global' }, ({ request }) => {
        const context = contextOf(request);
        if (routes.at(context.route)?.methods.get(request.method)?.body === 'none') return {};
        const begun = once.bodyOf(request);
        return begun ? begun.body : services.bodyOf(request, context);
      })
      .use(others)
      .use(pages)
  );
}
