import { Elysia, type HTTPHeaders } from 'elysia';
import type { ErrorCode } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { AnswerSource, RunningAnswer } from '../gateway/answer-source.ts';
import { checkUndecided } from '../gateway/check-request.ts';
import type { Funding } from '../gateway/funding.ts';
import {
  type NamedRun,
  type PipelineCall,
  type PipelineEdge,
  type RepeatedAnswer,
  serveRequest,
} from '../gateway/pipeline.ts';
import type { RequestContext } from '../gateway/request-context.ts';
import type { Surface } from '../surface/surface.ts';
import { type AnswerForm, answer } from './answer.ts';
import { BODY_ERRORS, routeDocs } from './docs/route-docs.ts';
import { claimName, nameOf, type ReplayableCall, type RequestName } from './replay.ts';
import { textResponse } from './response.ts';
import { type EdgeServer, type RouteServices, UNREAD_S } from './route-services.ts';
import { DROPPED_HEADER } from './stream.ts';
import { FUNDING_ERRORS } from './x402/route-docs.ts';

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
  'request_exceeds_budget',
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

/** The route of a surface: a request is read, carried out and answered in its dialect, in JSON or as a stream. */
export const surfaceRoutes = (services: RouteServices, surface: Surface) =>
  new Elysia({ name: surface.name }).post(
    surface.path,
    async ({ request, set }) => {
      const context = services.contextOf(request);
      if (surface.requestIdHeader) set.headers[surface.requestIdHeader] = context.requestId;
      const body = await services.bodyOf(request, context);
      keepOpen(services.server(), request, context);
      const warmUp = warmUpOf(services, surface, { context, body, request, headers: set.headers });
      if (warmUp !== null) {
        set.headers['content-type'] = 'text/event-stream';
        return textResponse(warmUp, set.headers);
      }
      const edge = new SurfaceEdge(services, surface, { context, body, request, headers: set.headers });
      const answered = await serveRequest(services.gateway, context, edge);
      return typeof answered === 'string' ? textResponse(answered, set.headers) : answered;
    },
    surfaceDocs(surface),
  );

/**
 * The answer to a request that asks nothing of a model: it counts as a request, and costs nothing. A caller without a key has
 * none, for it pays for each.
 */
function warmUpOf(
  { gateway }: RouteServices,
  surface: Surface,
  { context, body, request: { headers } }: SurfaceCall,
): string | null {
  const { caller } = context;
  const warmUp = caller && surface.warmUp?.(body, headers);
  if (!warmUp) return null;
  context.operation = null;
  const { request } = warmUp;
  checkUndecided(request, caller, gateway.lease().snapshot);
  const created = Math.floor(gateway.now() / 1_000);
  return warmUp.answer({ decision: gateway.nextId(), created, model: request.model });
}

/** Deadlines bound the wait for the answer; the server's own idle limit would cut off a model that thinks. */
function keepOpen(server: EdgeServer | null, request: Request, context: RequestContext): void {
  if (!server) return;
  server.timeout(request, 0);
  context.whenOver(() => server.timeout(request, UNREAD_S));
}

/** An HTTP request on the route of a surface, with the headers of its response. */
interface SurfaceCall {
  readonly context: RequestContext;
  readonly body: unknown;
  readonly request: Request;
  readonly headers: HTTPHeaders;
}

/** Stands for the form of an answer until the request is read. */
const UNREAD: AnswerForm = {
  events: null,
  json() {
    throw new Error('a request was answered before it was read');
  },
};

/** The ends of the pipeline for one request: its surface reads and writes, HTTP carries. */
class SurfaceEdge implements PipelineEdge<Response | string> {
  readonly #services: RouteServices;
  readonly #surface: Surface;
  readonly #http: SurfaceCall;
  #form: AnswerForm = UNREAD;
  #addCredit: (() => void) | null = null;

  constructor(services: RouteServices, surface: Surface, http: SurfaceCall) {
    this.#services = services;
    this.#surface = surface;
    this.#http = http;
  }

  read(): ModelRequest {
    const { context, body, request: origin } = this.#http;
    const { request, events, json = this.#surface.json } = this.#surface.read(body, origin.headers);
    this.#form = { events, json };
    context.isStream = events !== null;
    return request;
  }

  /** A payer that has just proved itself counts against the rate limits from here on. */
  fund({ request, context }: PipelineCall): Funding | Promise<Funding> {
    const { url, headers } = this.#http.request;
    const { caller: key, idempotencyKey } = context;
    const funding = this.#services.gateway.funding.of({ request, context, key, idempotencyKey, url, headers });
    return funding instanceof Promise ? acceptedLater(funding, context) : accepted(funding, context);
  }

  claim(call: PipelineCall, funding: Funding): Promise<NamedRun | RepeatedAnswer<Response | string>> | null {
    const { request, headers } = this.#http;
    const name = nameOf(call.context, request.headers, funding, this.#surface);
    return name && this.#claimed(name, { ...call, headers });
  }

  async #claimed(name: RequestName, call: ReplayableCall): Promise<NamedRun | RepeatedAnswer<Response | string>> {
    const named = await claimName(this.#services, name, call, this.#form);
    if (named.kind === 'run') this.#addCredit = named.addCredit;
    return named;
  }

  write(source: AnswerSource, { funded, policy }: RunningAnswer): Promise<Response | string> {
    const { context, headers } = this.#http;
    context.addLimitHeaders(headers);
    Object.assign(headers, funded.headers);
    const answered = answer(source, this.#form, headers, policy.commitAfterMs);
    return this.#addCredit ? answered.finally(this.#addCredit) : answered;
  }
}

function accepted(funding: Funding, context: RequestContext): Funding {
  if (funding.provedCaller) context.acceptPayer(funding.provedCaller);
  return funding;
}

const acceptedLater = async (funding: Promise<Funding>, context: RequestContext): Promise<Funding> =>
  accepted(await funding, context);

/** Operation → the group of its routes in the API's documentation. */
const TAGS = { chat: 'chat', embed: 'embeddings' } as const;

/** Headers of an answer, for the API's documentation. */
const ANSWER_HEADERS = {
  'x-request-id': 'The ID of the request.',
  'x-signalbox-version': 'The build that answers.',
  'x-signalbox-decision-id': 'The ID of the decision, for `/v1/decisions`.',
  'x-signalbox-model': 'The model that answers. A stream whose headers go out before its first content has none.',
  'x-signalbox-credits': 'The charge. Not of a stream, whose last event has it.',
  [DROPPED_HEADER]:
    'Fields that the model lacks and `gateway.drop_unsupported` lists, separated by commas: they did not reach it. `platform.dropped` names them, too.',
  'x-signalbox-given-back': 'Credits given back for an earlier attempt under the same `Idempotency-Key`.',
  'x-signalbox-replayed': '`true` if it repeats an earlier answer.',
} as const;

function surfaceDocs({ docs, pays, operation, errorBody }: Surface) {
  const { error, ...spec } = docs;
  const access = { access: operation, operation, counts: true, pays };
  const form = { schema: error, body: errorBody };
  return routeDocs({
    ...spec,
    ...access,
    tag: TAGS[operation],
    errors: SURFACE_ERRORS,
    errorForm: form,
    headers: ANSWER_HEADERS,
  });
}
