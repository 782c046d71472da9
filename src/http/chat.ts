import { Elysia } from 'elysia';
import type { ErrorCode } from '../core/errors.ts';
import type { Funding } from '../gateway/funding.ts';
import { beginChat, type ChatCall } from '../gateway/pipeline.ts';
import type { Surface } from '../surface/surface.ts';
import { answer } from './answer.ts';
import type { RouteContext } from './context.ts';
import { BODY_ERRORS, operation } from './docs/operation.ts';
import { answerOnce, askOf } from './replay.ts';
import { FUNDING_ERRORS } from './x402/operations.ts';

/** The errors of every surface. */
const SURFACE_ERRORS: readonly ErrorCode[] = [
  ...BODY_ERRORS,
  'unknown_field',
  'unsupported_parameter',
  'model_not_found',
  'budget_limit_too_low',
  'context_length_exceeded',
  'no_eligible_model',
  'no_healthy_model',
  'insufficient_quota',
  ...FUNDING_ERRORS,
  'budget_contended',
  'upstream_rejected_request',
  'upstream_rate_limited',
  'upstream_failed',
  'upstream_timeout',
  'in_flight',
  'idempotency_key_reused',
  'idempotency_answer_unavailable',
];

/** Seconds for which nobody may read of an answer that is complete, or whose deadline is over; its socket holds memory. */
const UNREAD_S = 30;

/** The funding of a request. A caller who has just proved itself is counted against the rate limits from here on. */
async function fundingOf({ gateway }: RouteContext, call: ChatCall, { url, headers }: Request): Promise<Funding> {
  const { context } = call;
  const idempotencyKey = headers.get('idempotency-key');
  const funding = await gateway.funding.of({ ...call, key: context.caller, idempotencyKey, url, headers });
  if (funding.provedCaller) context.acceptPayer(funding.provedCaller);
  return funding;
}

/** The route of a surface: a request is read, carried out and answered in its dialect, in JSON or as a stream. */
export const surfaceRoutes = (context: RouteContext, surface: Surface) =>
  new Elysia({ name: surface.name }).post(
    surface.path,
    async ({ body, request, server, set }) => {
      // Deadlines bound the wait; the server's own idle limit would cut off a model that thinks.
      server?.timeout(request, 0);
      const requestContext = context.contextOf(request);
      requestContext.whenOver(() => server?.timeout(request, UNREAD_S));
      const { request: chat, events } = surface.read(body, request.headers);
      requestContext.isStream = events !== null;
      const call = { request: chat, context: requestContext };
      const funding = await fundingOf(context, call, request);
      const ask = askOf(requestContext, request.headers, funding, surface);
      const form = { surface, events };
      if (ask) return answerOnce(context, ask, funding, { ...call, headers: set.headers }, form);
      const exchange = await beginChat(context.gateway, call, funding);
      requestContext.addLimitHeaders(set.headers);
      request.signal.addEventListener('abort', () => exchange.abandon('caller-gone'));
      // The caller may have left while the money was set aside: that event is over.
      if (request.signal.aborted) exchange.abandon('caller-gone');
      return answer(exchange, form, set.headers, exchange.policy.commitAfterMs);
    },
    surfaceOperation(surface),
  );

function surfaceOperation({ docs, pays, keyHeader, operation: asked, errorBody }: Surface) {
  const { request, error, ...spec } = docs;
  const access = { access: asked, operation: asked, counts: true, pays, keyHeader };
  const form = { schema: error, body: errorBody };
  const { detail } = operation({ ...spec, ...access, tag: 'chat', errors: SURFACE_ERRORS, errorForm: form });
  // The surface checks the body: a schema here would have the router check it again.
  return { detail: { ...detail, requestBody: { content: { 'application/json': { schema: request } } } } };
}
