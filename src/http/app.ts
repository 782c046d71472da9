import { type AnyElysia, Elysia, type HTTPHeaders } from 'elysia';
import { Limiter } from '../access/limits/limiter.ts';
import { LIMIT_HEADERS } from '../access/limits/refusal.ts';
import { SharedCounts } from '../access/limits/shared-counts.ts';
import { operatorAs } from '../admin/use-cases/principal.ts';
import { sightOf } from '../admin/use-cases/sight.ts';
import { perLatest } from '../core/lazy.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { addedSteps } from '../gateway/request/added-steps.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import { openPipeline } from '../gateway/request/pipeline.ts';
import { type AdmissionRules, admit, countFailedAuth, readmit } from './admission.ts';
import { apiRoutes } from './api-routes.ts';
import { type AppOptions, NO_LEVELS } from './app-options.ts';
import { changesOnce } from './changes-once.ts';
import { type LoginDoor, loginDoor } from './console/login-door.ts';
import { answerOrigin, CORS_HEADERS, preflightRefusal } from './cors.ts';
import { DailyChanges } from './daily-changes.ts';
import { openApiDocument } from './docs/openapi.ts';
import { docsRoutes } from './docs/page.ts';
import { dialectFor } from './error-dialect.ts';
import { HeldRequests } from './held-requests.ts';
import { wholeAddress } from './kit/address.ts';
import { type BodyLimits, readBody } from './kit/body.ts';
import { BodyPace } from './kit/body-pace.ts';
import { BodyReader } from './kit/body-reading.ts';
import { errorResponse, publicError } from './kit/errors.ts';
import { Repeats } from './kit/repeats.ts';
import { type EdgeServer, type RequestCarrier, type RouteServices, STALLED_S } from './kit/route-services.ts';
import { pathOf, RouteTable, routeRules } from './kit/route-table.ts';
import { Sockets } from './kit/sockets.ts';
import { operatorOf } from './operator-socket.ts';
import { recommendRoutes } from './recommend.ts';
import { requestContexts } from './request-contexts.ts';
import type { Upgrader } from './surface-socket.ts';
import { documentedTemplates, surfaceRoutes } from './surfaces.ts';
import { principalOf } from './terms.ts';

/** How many JSON values any body may contain, in addition to the messages and tools that the policy allows. */
const VALUES_MIN = 20_000;

/** Headers that an error response keeps. */
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

/** The status if a handler has set it as a number, otherwise 200. */
const statusOf = (status: number | string | undefined): number => (typeof status === 'number' ? status : 200);

function bodyLimits({ gateway, guards }: PolicySnapshot): BodyLimits {
  const { messagesMax, toolsMax, turnsBytesMax } = gateway;
  const isGuarded = guards.some(({ on }) => on.includes('input'));
  return { valuesMax: VALUES_MIN + 16 * messagesMax + 64 * toolsMax, turnsBytesMax, isGuarded };
}

/** The routes that applications use. These routes read the bodies of their requests themselves. */
const requestRoutes = (services: RouteServices, { surfaces }: AppOptions, upgrader: () => Upgrader | null) =>
  new Elysia({ name: 'requests' }).use(surfaceRoutes(services, surfaces, upgrader)).use(recommendRoutes(services));

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

/** The server as requests see it. A request that arrived over another request's connection uses that connection. */
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
  { open, of: contextOf }: ReturnType<typeof requestContexts>,
  edge: Pick<RouteServices, 'server' | 'handle'>,
  door: LoginDoor,
  rules: () => AdmissionRules,
): RouteServices {
  const { gateway, idempotency, keys, tokens } = options;
  const sources = { keys, policy: () => gateway.lease().snapshot };
  const { conversations = null } = options;
  const reading = { reader: new BodyReader(gateway.clock), pace: new BodyPace(options.gate) };
  const limitsOf = perLatest(bodyLimits);
  const readerWith = (kept: typeof conversations): RouteServices['bodyOf'] => {
    const own = { ...reading, conversations: kept };
    return (request, context) => readBody(request, own, limitsOf(gateway.lease().snapshot), context);
  };
  const addressOf = (request: Request) =>
    wholeAddress(request, edge.server(), gateway.lease().snapshot.gateway.trustedProxies);
  return {
    gateway,
    pipeline: openPipeline(gateway, options.steps ?? addedSteps),
    idempotency,
    repeats: new Repeats(gateway.answers, gateway.turns, () => gateway.lease().snapshot.gateway.answersBytesMax),
    repeatChecks: new Map(),
    answerSecretOf: (id) => tokens.answerSecretOf(id),
    keyIdOf: (text) => keys.find(text)?.id,
    contextOf,
    addressOf,
    readmit: (request, context) => readmit(request, rules(), edge.server(), context),
    callerOf: (request) => contextOf(request).knownCaller,
    sightOf: ({ caller }) => sightOf(caller, sources),
    principalOf: (request) => {
      const operator = operatorOf(request);
      if (operator) return operatorAs(operator);
      return principalOf(contextOf(request), addressOf(request), door.loginOf(request)?.login.id);
    },
    bodyOf: readerWith(null),
    promptOf: readerWith(conversations),
    handle: edge.handle,
    refuse(caller, { url, headers }, error) {
      const context = open(new Request(url, { method: 'POST', headers }), rules().routes.find(pathOf(url)));
      context.client.caller = caller;
      context.failed(error);
      return context.requestId;
    },
    sockets: new Sockets(options, gateway.clock, () => gateway.lease().snapshot.gateway),
    stalledS: options.stalledS ?? STALLED_S,
    server: edge.server,
  };
}

/**
 * Creates the HTTP server's routes and hooks. `onRequest` admits a request before a byte of its body is read, because Elysia validates
 * before any later hook. The only error mapping is at the root. `normalize` is off, because it would repair and strip bodies before they
 * are checked.
 */
export function createApp(options: AppOptions) {
  const { gateway, surfaces, version, observer } = options;
  const contexts = requestContexts(observer);
  const { open, of: contextOf } = contexts;
  // With the standard setting, a host of up to three characters, such as `gw`, loses the start of every path.
  const handler = { standardHostname: false };
  const app = new Elysia({ normalize: false, name: 'signalbox', handler });
  const door = loginDoor(options.signIn, () => gateway.lease().snapshot, options.levels);
  const edge = edgeOf(app);
  const services = servicesOf(options, contexts, edge, door, () => rules);
  const requests = requestRoutes(services, options, () => app.server);
  // The admission rules need the routes, so they are created later.
  const others = apiRoutes(services, door, (request) => countFailedAuth(request, rules, services.server()), options);
  const documented = [others, requests, documentedTemplates(services, surfaces)];
  const pages = docsRoutes(() => openApiDocument(version, new Elysia().use(documented), surfaces));
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
        // The browser of a shared computer must not store admin responses.
        if (route?.path.startsWith('/admin/')) set.headers['cache-control'] = 'no-store';
        const { gateway: policy } = gateway.lease().snapshot;
        const answer = policy.corsOrigins.size > 0 ? answerOrigin(request, route, policy, set.headers) : null;
        let early: Response | Promise<Response> | undefined;
        if (answer) {
          context.handled(answer.status, null);
          early = answer;
        } else {
          const admission = isBack ? held.release(request) : admit(request, rules, services.server(), context, route);
          if (!admission) context.life.addLimitHeaders(set.headers);
          const answering = admission ? held.hold(request, admission) : once.answerTo(request, context, set.headers);
          if (answering) {
            set.headers = {};
            early = answering;
          }
        }
        // `return` must not contain a call: Elysia would then treat the hook as asynchronous, and wait in every request.
        return early;
      })
      // Admission reads the path before the router does. If the two differ, the route stays closed.
      .onTransform({ as: 'global' }, ({ request, route }) => {
        const entry = routes.find(route);
        const context = contextOf(request);
        if (entry?.isOpen || (context.life.isAdmitted && routes.leadsTo(entry, route, context.route))) return;
        throw new Error(`the router chose ${route}, which is not the admitted route`);
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
        context.failed(known);
        // After an internal error, the request may have changed something, so the request stays counted.
        if (known.status < 500) changes.giveBack(request);
        const dialect = dialectFor(request, routes.at(context.route), surfaces);
        return errorResponse(known, dialect, errorHeaders(set.headers, gateway.funding), context.mayBeCharged);
      })
      .use(requests)
      // This hook comes after the request routes, which read their bodies themselves and would pay for Elysia's parser.
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
