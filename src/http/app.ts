import { Elysia, type HTTPHeaders } from 'elysia';
import type { Idempotency } from '../access/idempotency/state.ts';
import type { Authentication } from '../access/keys.ts';
import { Limiter } from '../access/limits/limiter.ts';
import { LIMIT_HEADERS } from '../access/limits/refusal.ts';
import { idText } from '../core/id.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Store } from '../store/store.ts';
import type { EndpointSample } from '../upstream/health/health.ts';
import { adminRoutes, type PolicyAdmin } from './admin.ts';
import { type KeyAdmin, keyRoutes } from './admin-keys.ts';
import { paymentAdminRoutes } from './admin-payments.ts';
import { type BodyLimits, readJson } from './body.ts';
import { chatRoutes } from './chat.ts';
import { contentRoutes } from './contents.ts';
import type { RouteContext } from './context.ts';
import { decisionRoutes } from './decisions.ts';
import { openApiDocument } from './docs/openapi.ts';
import { docsRoutes } from './docs/page.ts';
import { errorResponse, publicError } from './errors.ts';
import { Gate } from './gate.ts';
import { admit, bodyBytesMax, type GuardRules, guardedAs, needsKey, takesNoBody } from './guard.ts';
import { healthRoutes } from './health.ts';
import { ledgerRoutes } from './ledger.ts';
import { countError, metricsRoutes, newCounts } from './metrics.ts';
import { modelRoutes } from './models.ts';
import { PAYMENT_HEADERS } from './payer.ts';
import { paymentRoutes } from './payments.ts';
import { recommendRoutes } from './recommend.ts';
import { usageRoutes } from './usage.ts';
import type { Visit } from './visit.ts';
import { walletRoutes } from './wallets.ts';
import { wellKnownRoutes } from './well-known.ts';

export interface AppOptions {
  readonly gateway: Gateway;
  readonly policy: PolicyAdmin;
  readonly keys: KeyAdmin;
  readonly idempotency: Idempotency;
  /** Where an operator's gifts to wallets are written. */
  readonly store: Pick<Store, 'commit'>;
  authenticate(header: string | null): Authentication;
  /** The build that answers, for `x-signalbox-version`. */
  readonly version: string;
  /** Whether `/metrics` is there. */
  readonly metrics: boolean;
  /** The endpoints that it shows; absent for none. */
  readonly endpoints?: () => Iterable<EndpointSample>;
}

/** Values that any body may hold; messages and tools come on top, as many as the policy allows. */
const VALUES_MIN = 20_000;

/** Headers that go with an error too: what it was about, and what it cost. */
const TOLD_WITH_ERRORS = [
  'x-request-id',
  'x-signalbox-version',
  'x-signalbox-decision-id',
  'x-signalbox-credits',
  'x-signalbox-given-back',
  ...PAYMENT_HEADERS,
  ...LIMIT_HEADERS,
];

const toldWithErrors = (headers: HTTPHeaders): Record<string, string> =>
  Object.fromEntries(
    TOLD_WITH_ERRORS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );

/** Every request as it was admitted. Those on open routes have none. */
export type Admitted = WeakMap<Request, Visit>;

function bodyLimits({ lease }: Gateway, { caller }: Visit): BodyLimits {
  const { snapshot } = lease();
  const { messagesMax, toolsMax } = snapshot.gateway;
  const valuesMax = VALUES_MIN + 16 * messagesMax + 64 * toolsMax;
  return { bytesMax: bodyBytesMax(snapshot, caller === null), valuesMax };
}

/**
 * The whole HTTP edge. `onRequest` admits before a byte of the body is read (validation would run
 * before any later hook), and the one error mapping stands at the root. `normalize` is off: it
 * would mend and strip bodies before they are checked.
 */
export function createApp(options: AppOptions) {
  const { gateway, policy, keys, idempotency, store, authenticate, version, metrics, endpoints } = options;
  const admitted: Admitted = new WeakMap();
  const counts = newCounts();
  const gate = new Gate();
  const limiter = new Limiter(gateway.clock);
  const rules: GuardRules = {
    authenticate,
    policy: () => gateway.lease().snapshot,
    isBlocked: (wallet) => gateway.payments.isBlocked(wallet),
    limiter,
    gate,
  };
  const visitOf = (request: Request): Visit => {
    const visit = admitted.get(request);
    if (!visit) throw new Error('a request that nobody let in came to a handler');
    return visit;
  };
  const context: RouteContext = { gateway, idempotency, visitOf, callerOf: (request) => visitOf(request).known };

  const groups = new Elysia({ name: 'api' })
    .use(healthRoutes(gateway, policy))
    .use(metricsRoutes({ gateway, policy, counts, gate, endpoints, version, enabled: metrics }))
    .use(adminRoutes(policy))
    .use(ledgerRoutes(context))
    .use(keyRoutes({ ...context, keys }))
    .use(paymentAdminRoutes({ ...context, store }))
    .use(modelRoutes(context))
    .use(decisionRoutes(context))
    .use(usageRoutes(context))
    .use(contentRoutes(context))
    .use(paymentRoutes(context))
    .use(walletRoutes(context))
    .use(wellKnownRoutes(context))
    .use(recommendRoutes(context))
    .use(chatRoutes(context));
  // Otherwise a host of up to three characters, such as `gw`, loses the start of every path.
  const handler = { standardHostname: false };
  return (
    new Elysia({ normalize: false, name: 'signalbox', handler })
      .onRequest(({ request, set, server }) => {
        counts.requests++;
        set.headers['x-request-id'] = idText('req_', gateway.nextId());
        set.headers['x-signalbox-version'] = version;
        const visit = admit(request, rules, server);
        if (!visit) return;
        admitted.set(request, visit);
        visit.tell(set.headers);
      })
      // The guard has read the path before the router did: whatever they would disagree on stays shut.
      .onTransform({ as: 'global' }, ({ request, route }) => {
        if (!needsKey(route) || visitOf(request).route === guardedAs(route)) return;
        throw new Error(`${route} was reached by another way than the guard’s`);
      })
      .onParse({ as: 'global' }, ({ request }) => {
        if (takesNoBody(request)) return {};
        const visit = visitOf(request);
        const turn = visit.comeIn(request);
        const read = () => readJson(request, bodyLimits(gateway, visit));
        return turn ? turn.then(read) : read();
      })
      .onAfterHandle({ as: 'global' }, ({ request }) => admitted.get(request)?.handled())
      .onError({ as: 'global' }, ({ error, set, request }) => {
        admitted.get(request)?.handled();
        const requestId = String(set.headers['x-request-id']);
        const known = publicError(error, (defect) => {
          const stack = defect instanceof Error ? defect.stack : String(defect);
          gateway.log.error('a request met a defect', { request: requestId, method: request.method, stack });
        });
        countError(counts, known.code);
        const caller = admitted.get(request)?.caller;
        const decision = set.headers['x-signalbox-decision-id'];
        // By the number that its caller was told. What was decided has a line and a record of its own.
        if (caller && !decision)
          gateway.log.info('refused', { request: requestId, key: caller.keyId, code: known.code });
        return errorResponse(known, toldWithErrors(set.headers));
      })
      .use(groups)
      .use(docsRoutes(() => openApiDocument(version, groups)))
  );
}
