import type { Context, HTTPHeaders } from 'elysia';
import { NameTaken } from '../access/idempotency/run.ts';
import { DECISION_ERRORS } from '../admin/kit/operation.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Caller } from '../core/people/caller.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import type { AnswerRoute, RouteInput, ServedRoute } from '../dialects/surface.ts';
import type { AnswerSource, RunningAnswer } from '../gateway/exchange/answer-source.ts';
import type { Funding } from '../gateway/money/funding.ts';
import { checkUndecided } from '../gateway/request/check-request.ts';
import { decisionFor, type Pipeline } from '../gateway/request/pipeline.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import type { FundedRequest } from '../gateway/request/served.ts';
import { type AnswerForm, answer } from './kit/answer.ts';
import { callerSecretOf, claimName, type NamedRun, nameOf } from './kit/replay.ts';
import { textResponse } from './kit/response.ts';
import type { RouteDocs } from './kit/route-docs.ts';
import { type EdgeServer, type RouteServices, UNREAD_S } from './kit/route-services.ts';
import { queryOf } from './kit/route-table.ts';
import { DROPPED_HEADER } from './kit/stream.ts';
import { keyParameterOf, type SurfaceHandler } from './surface-handler.ts';
import { FUNDING_ERRORS } from './x402/route-docs.ts';

/** The errors of every surface. */
const SURFACE_ERRORS: readonly ErrorCode[] = [
  ...DECISION_ERRORS,
  ...FUNDING_ERRORS,
  'budget_contended',
  'upstream_rejected_request',
  'upstream_failed',
  'upstream_timeout',
  'in_flight',
  'idempotency_key_reused',
  'idempotency_answer_unavailable',
];

/** Reads, runs and answers requests of a surface, as JSON or as a stream. */
export const answerHandler = (services: RouteServices, served: ServedRoute): SurfaceHandler => ({
  path: served.route.path,
  alsoAt: served.route.alsoAt ?? [],
  docs: answerDocs(served),
  handle: (params, request, set) => answerAt(services, served, params, request, set),
});

async function answerAt(
  services: RouteServices,
  served: ServedRoute,
  params: RouteInput['params'],
  request: Request,
  set: Context['set'],
): Promise<Response | string> {
  const { surface, route } = served;
  const context = services.contextOf(request);
  if (surface.requestIdHeader) set.headers[surface.requestIdHeader] = context.requestId;
  const body = await services.promptOf(request, context);
  keepOpen(services.server(), request, context);
  const input = { body, headers: request.headers, params, query: queryOf(request.url) };
  const call = { context, input, request, headers: set.headers };
  const warmUp = warmUpOf(services, route, call);
  if (warmUp !== null) {
    set.headers['content-type'] = 'text/event-stream';
    return textResponse(warmUp, set);
  }
  const answered = await answerCall(services, served, call);
  return typeof answered === 'string' ? textResponse(answered, set) : answered;
}

/**
 * The response to a request that needs no model. A warm-up request counts as a request and costs nothing. A caller without a key gets no
 * such response, because a caller without a key pays for each request.
 */
function warmUpOf({ gateway }: RouteServices, route: AnswerRoute, { context, input }: SurfaceCall): string | null {
  const { caller } = context;
  const warmUp = caller && route.warmUp?.(input);
  if (!warmUp) return null;
  context.operation = null;
  const { request } = warmUp;
  checkUndecided(request, caller, gateway.lease().snapshot);
  const created = Math.floor(gateway.now() / 1_000);
  return warmUp.answer({ decision: gateway.nextId(), created, model: request.model });
}

/** Deadlines limit the wait for the answer. The server's own idle timeout would cut off a model that thinks for long. */
function keepOpen(server: EdgeServer | null, request: Request, context: RequestContext): void {
  if (!server) return;
  server.timeout(request, 0);
  context.life.whenOver(() => server.timeout(request, UNREAD_S));
}

/** An HTTP request on the route of a surface, with the headers of its response. */
interface SurfaceCall {
  readonly context: RequestContext;
  readonly input: RouteInput;
  readonly request: Request;
  readonly headers: HTTPHeaders;
}

/** Reads a request, finds its payer and its name, runs it, and writes its answer in the surface's dialect. */
async function answerCall(services: RouteServices, served: ServedRoute, call: SurfaceCall): Promise<Response | string> {
  const { pipeline } = services;
  const { context, input, request: origin } = call;
  const { request, events, json = served.route.json } = served.route.read(input);
  context.answer.isStream = events !== null;
  const form = { events, json };
  // Steps without a wait continue in the same turn of the event loop.
  const found = fundingOf(pipeline, request, call);
  const first = found instanceof Promise ? await found : found;
  // A payer that has just been verified counts against the rate limits from now on.
  const accepting = first.provedCaller && context.acceptPayer(first.provedCaller);
  if (accepting) await accepting;
  const isNamed = context.idempotencyKey !== null || first.identity !== null;
  const name = isNamed ? nameOf(context, origin, first, served, services.answerSecretOf) : null;
  const funded = new FundedCall(services, request, call, first);
  for (;;) {
    const named = name && (await claimName(services, name, call, form));
    if (named?.kind === 'stored') return named.answer;
    funded.named = named;
    let running: RunningAnswer;
    try {
      // A claim that waits checks the caller again.
      if (named) await funded.renew();
      running = await pipeline.serve(funded);
    } catch (cause) {
      await named?.drop();
      // Another server has claimed the name in the meantime, so this request counts as a repeat.
      if (named && cause instanceof NameTaken) continue;
      throw cause;
    }
    return await writeAnswer(call, form, named, running);
  }
}

/** A request that a surface has read, with its payer. */
class FundedCall implements FundedRequest {
  readonly request: ModelRequest;
  readonly context: RequestContext;
  funding: Funding;
  named: NamedRun | null = null;
  readonly #services: RouteServices;
  readonly #call: SurfaceCall;
  /** The caller for whom the payer was found. */
  #caller: Caller | null;

  constructor(services: RouteServices, request: ModelRequest, call: SurfaceCall, funding: Funding) {
    this.request = request;
    this.context = call.context;
    this.funding = funding;
    this.#services = services;
    this.#call = call;
    this.#caller = call.context.caller;
  }

  /** Finds the payer again if the caller has changed. */
  async renew(): Promise<void> {
    const { caller } = this.context;
    if (caller === this.#caller) return;
    this.#caller = caller;
    this.funding = await fundingOf(this.#services.pipeline, this.request, this.#call);
  }

  async fundingNow(): Promise<Funding> {
    await this.#services.readmit(this.#call.request, this.context);
    await this.renew();
    return this.funding;
  }

  secretOf(): string | null {
    return callerSecretOf(this.context.caller, this.#call.request, this.#services);
  }
}

function writeAnswer(
  { context, headers }: SurfaceCall,
  form: AnswerForm,
  named: NamedRun | null,
  running: RunningAnswer,
): Promise<Response | string> {
  const source = named ? named.keep(running) : running;
  abandonWithCaller(context, running, source, named?.toTheEnd ?? false);
  context.life.addLimitHeaders(headers);
  Object.assign(headers, running.funded.headers);
  const answered = answer(source, form, headers, running.policy);
  return named ? answered.finally(named.addCredit) : answered;
}

function fundingOf(
  pipeline: Pipeline,
  request: ModelRequest,
  { context, request: { url, headers } }: SurfaceCall,
): Funding | Promise<Funding> {
  const { caller: key, idempotencyKey } = context;
  const decide = decisionFor(pipeline, request, context);
  return pipeline.gateway.funding.of({ request, key, idempotencyKey, url, headers, decide });
}

/** Ends an answer when its caller disconnects. A named answer that continues to its end only loses its reader. */
function abandonWithCaller(
  { signal }: RequestContext,
  running: RunningAnswer,
  source: AnswerSource,
  toTheEnd: boolean,
): void {
  const leave = () => {
    if (!toTheEnd) running.abandon('caller-gone');
    if (source !== running) source.abandon('caller-gone');
  };
  signal.addEventListener('abort', leave);
  // The caller may have disconnected while the money was reserved, and then the event `abort` has already fired.
  if (signal.aborted) leave();
}

/** The headers of an answer, for the OpenAPI document. */
const ANSWER_HEADERS = {
  'x-request-id': 'The ID of the request.',
  'x-signalbox-version': 'The version and commit of the server that answers.',
  'x-signalbox-decision-id': 'The ID of the decision, for `/v1/decisions`.',
  'x-signalbox-model':
    'The model that answers. A stream whose headers are sent before its first content does not have this header.',
  'x-signalbox-credits': 'The charge in Credits. A stream has the charge in its last event instead.',
  [DROPPED_HEADER]:
    'The fields of the request that the model did not receive, as in `platform.dropped`: percent-encoded, separated by commas, at most 1,024 bytes. Fields that do not fit are counted: `and 12 more`. A stream whose headers are sent before its first content does not have this header.',
  'x-signalbox-given-back': 'Credits that were refunded for an earlier attempt with the same `Idempotency-Key`.',
  'x-signalbox-replayed': '`true` if this is the stored answer of an earlier request.',
  'x-signalbox-cache':
    '`hit` if the cache of the policy answered, `miss` if a model answered, `partial` if some vectors come from the cache. Absent if the cache does not apply.',
  age: 'The seconds since the answer of a hit was stored.',
} as const;

const answerDocs = ({ surface, route }: ServedRoute): RouteDocs => ({
  ...route.docs,
  access: route.operation,
  body: 'policy',
  operation: route.operation,
  counts: true,
  pays: route.pays,
  ...keyParameterOf(surface),
  isForPages: true,
  tag: surface.dialect,
  errors: SURFACE_ERRORS,
  errorForm: { schema: surface.error, body: surface.errorBody },
  headers: ANSWER_HEADERS,
});
