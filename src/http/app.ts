import { Elysia } from 'elysia';
import type { Authentication } from '../access/keys.ts';
import type { Caller } from '../core/caller.ts';
import { idText } from '../core/id.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { adminRoutes, type PolicyAdmin } from './admin.ts';
import { type BodyLimits, readJson } from './body.ts';
import { chatRoutes } from './chat.ts';
import { decisionRoutes } from './decisions.ts';
import { openApiDocument } from './docs/openapi.ts';
import { docsRoutes } from './docs/page.ts';
import { errorResponse, publicError } from './errors.ts';
import { admit, takesNoBody } from './guard.ts';
import { healthRoutes } from './health.ts';
import { ledgerRoutes } from './ledger.ts';
import { countError, metricsRoutes, newCounts } from './metrics.ts';
import { modelRoutes } from './models.ts';
import { recommendRoutes } from './recommend.ts';

export interface AppOptions {
  readonly gateway: Gateway;
  readonly policy: PolicyAdmin;
  authenticate(header: string | null): Authentication;
  /** The build that answers, for `x-signalbox-version`. */
  readonly version: string;
  /** Whether `/metrics` is there. */
  readonly metrics: boolean;
}

/** Values that any body may hold; messages and tools come on top, as many as the policy allows. */
const VALUES_MIN = 20_000;

/** Headers that go with an error too: what it was about, and what it cost. */
const TOLD_WITH_ERRORS = ['x-request-id', 'x-signalbox-version', 'x-signalbox-decision-id', 'x-signalbox-credits'];

/** Who sent a request, as admitted. Requests on open routes have nobody. */
export type Admitted = WeakMap<Request, Caller>;

/**
 * The whole HTTP edge. `onRequest` admits before a byte of the body is read (validation would run
 * before any later hook), and the one error mapping stands at the root. `normalize` is off: it
 * would mend and strip bodies before they are checked.
 */
export function createApp({ gateway, policy, authenticate, version, metrics }: AppOptions) {
  const admitted: Admitted = new WeakMap();
  const counts = newCounts();
  const rules = { authenticate, bodyBytesMax: () => gateway.lease().snapshot.gateway.bodyBytesMax };
  const bodyLimits = (): BodyLimits => {
    const { bodyBytesMax, messagesMax, toolsMax } = gateway.lease().snapshot.gateway;
    return { bytesMax: bodyBytesMax, valuesMax: VALUES_MIN + 16 * messagesMax + 64 * toolsMax };
  };
  const context = { gateway, callerOf: (request: Request) => admitted.get(request)! };

  const groups = new Elysia({ name: 'api' })
    .use(healthRoutes(gateway, policy))
    .use(metricsRoutes({ gateway, policy, counts, version, enabled: metrics }))
    .use(adminRoutes(policy))
    .use(ledgerRoutes(context))
    .use(modelRoutes(context))
    .use(decisionRoutes(context))
    .use(recommendRoutes(context))
    .use(chatRoutes(context));
  // Otherwise a host of up to three characters, such as `gw`, loses the start of every path.
  const handler = { standardHostname: false };
  return new Elysia({ normalize: false, name: 'signalbox', handler })
    .onRequest(({ request, set }) => {
      counts.requests++;
      set.headers['x-request-id'] = idText('req_', gateway.nextId());
      set.headers['x-signalbox-version'] = version;
      const caller = admit(request, rules);
      if (caller) admitted.set(request, caller);
    })
    .onParse({ as: 'global' }, ({ request }) => (takesNoBody(request) ? {} : readJson(request, bodyLimits())))
    .onError({ as: 'global' }, ({ error, set, request }) => {
      const requestId = String(set.headers['x-request-id']);
      const known = publicError(error, (defect) => {
        const stack = defect instanceof Error ? defect.stack : String(defect);
        gateway.log.error('a request met a defect', { request: requestId, method: request.method, stack });
      });
      countError(counts, known.code);
      const told = Object.fromEntries(
        TOLD_WITH_ERRORS.flatMap((name) =>
          set.headers[name] === undefined ? [] : [[name, String(set.headers[name])]],
        ),
      );
      return errorResponse(known, told);
    })
    .use(groups)
    .use(docsRoutes(() => openApiDocument(version, groups)));
}

/** What the route groups share. */
export interface RouteContext {
  readonly gateway: Gateway;
  /** The caller of a request on a route that needs a key. */
  callerOf(request: Request): Caller;
}
