import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { HTTPHeaders } from 'elysia';
import { FRAME_MARK, type StoredAnswer } from '../access/idempotency/answer.ts';
import type { Claim, ClaimRefusal, KeyedRequest } from '../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../access/idempotency/run.ts';
import { bearerOf, parseKey } from '../access/key.ts';
import { toCredits } from '../core/credits.ts';
import { ERROR_CODES, type ErrorCode, SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import type { Exchange } from '../gateway/exchange.ts';
import type { Funding } from '../gateway/funding.ts';
import { beginChat, type ChatCall } from '../gateway/pipeline.ts';
import type { RequestContext } from '../gateway/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { errorBody } from '../surface/openai-chat/error.ts';
import type { EventForm, Surface } from '../surface/surface.ts';
import { jsonBody, tellPrice } from './answer.ts';
import type { RouteContext } from './context.ts';
import { KeptStream } from './kept-stream.ts';
import { streamResponse } from './stream.ts';

/** The form that an answer is given in: the surface, and its stream if the caller asks for one. */
interface AnswerForm {
  readonly surface: Surface;
  readonly events: EventForm | null;
}

/** When to ask again for an answer that is being made. */
const RETRY_MS = 1_000;
const isError = TypeCompiler.Compile(Type.Object({ error: Type.Object({ code: Type.String() }) }));
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
/** Characters of a stream that are sent at once, about. */
const SLICE = 65_536;

/** A request that gets the same answer whenever it is sent again. */
interface OnceAsk extends KeyedRequest {
  /** Whether it is carried out to its end though its caller leaves: who sends an `Idempotency-Key` asks for that. */
  readonly toTheEnd: boolean;
  /** The word for its name in a text, and the header that brings it. */
  readonly label: string;
  readonly param: string;
  /** Whether a client may repeat it by itself while it runs. */
  readonly canRetry: boolean;
}

/** A chat request with the headers of its response. */
interface ReplayableCall extends ChatCall {
  readonly headers: HTTPHeaders;
}

const BY_KEY = { label: 'Idempotency-Key', param: 'Idempotency-Key', toTheEnd: true, canRetry: true } as const;

/**
 * The name by which a repeat of the request is recognized: its `Idempotency-Key`, or else its payment, so that a paid
 * answer can be had again. Null for one with neither. Throws SignalboxError.
 */
export function askOf(context: RequestContext, headers: Headers, { identity, caller }: Funding): OnceAsk | null {
  const named = headers.get('idempotency-key');
  if (named !== null && !IDEMPOTENCY_KEY.test(named)) {
    throw new SignalboxError('invalid_value', '`Idempotency-Key` must have 1 to 255 printable ASCII characters.', {
      param: 'Idempotency-Key',
    });
  }
  if (identity) {
    // A client that repeats it by itself would sign another payment.
    return named === null
      ? { ...identity, toTheEnd: false, canRetry: false }
      : { ...identity, idempotencyKey: named, ...BY_KEY };
  }
  const body = context.bodyHash;
  // Without a caller nothing is carried out.
  if (named === null || !body || !caller) return null;
  const key = parseKey(bearerOf(headers.get('authorization') ?? '') ?? '');
  if (!key) throw new Error('a request was admitted without an API key');
  return { keyId: caller.keyId, secret: key.secret, idempotencyKey: named, body, ...BY_KEY };
}

/**
 * Answers a request that is known by a name: with the answer that was kept, or by carrying it out and keeping what
 * comes of it.
 */
export async function answerOnce(
  services: RouteContext,
  ask: OnceAsk,
  funding: Funding,
  call: ReplayableCall,
  { surface, events }: AnswerForm,
): Promise<Response | string> {
  const { context, headers } = call;
  const claim = await claimed(services, ask);
  if (claim.kind === 'replay') {
    context.isReplayed = true;
    context.decisionId = idText('dec_', claim.decision);
    context.code = codeOf(claim.answer);
    return replayOf(claim.answer);
  }
  if (claim.kind !== 'run') throw refusalError(claim, ask);
  const { run } = claim;
  let exchange: Exchange;
  try {
    exchange = await beginChat(services.gateway, call, funding, { claim: run, toTheEnd: ask.toTheEnd });
  } catch (cause) {
    await run.drop();
    throw cause;
  } finally {
    tellGivenBack(run, headers);
  }
  context.addLimitHeaders(headers);
  headers['x-signalbox-decision-id'] = idText('dec_', exchange.decision);
  Object.assign(headers, exchange.funded.headers);
  if (!ask.toTheEnd) {
    const { signal } = context;
    signal.addEventListener('abort', () => exchange.abandon('caller-gone'));
    if (signal.aborted) exchange.abandon('caller-gone');
  }
  if (!events) return jsonOnce(exchange, surface, run, headers);
  return streamOnce(services, exchange, events, run, call);
}

const claimed = ({ idempotency }: RouteContext, ask: KeyedRequest): Promise<Claim> =>
  orOverloaded('Kept answers cannot be looked up, so nothing was begun; try again.', () => idempotency.claim(ask));

function refusalError(refusal: ClaimRefusal, { label, param, canRetry }: OnceAsk): SignalboxError {
  switch (refusal.kind) {
    case 'in-flight':
      return new SignalboxError('in_flight', `The request with this ${label} is still running.`, {
        retryAfterMs: RETRY_MS,
        ...(!canRetry && { retry: false }),
      });
    case 'reused':
      return new SignalboxError(
        'idempotency_key_reused',
        'This Idempotency-Key came with another body before; a new request needs a new one.',
        { param: 'Idempotency-Key' },
      );
    case 'unavailable': {
      const decision = idText('dec_', refusal.decision);
      return new SignalboxError(
        'idempotency_answer_unavailable',
        `This request was charged as ${decision}, and its answer cannot be given again; to pay for another, send a new ${label}.`,
        { param, details: { decision_id: decision } },
      );
    }
  }
}

async function jsonOnce(
  exchange: Exchange,
  surface: Surface,
  run: IdempotentRun,
  headers: HTTPHeaders,
): Promise<string> {
  let body: string;
  try {
    body = await jsonBody(exchange, surface, headers);
  } catch (cause) {
    throw await failed(exchange, run, headers, cause);
  }
  // Durable before the caller has it: who was answered gets the same again.
  await run.keep({ status: 200, headers: worthRepeating(exchange, headers), frame: '', body });
  tellGivenBack(run, headers);
  return body;
}

async function streamOnce(
  { gateway }: RouteContext,
  exchange: Exchange,
  form: EventForm,
  run: IdempotentRun,
  { context: { signal }, headers }: ReplayableCall,
): Promise<Response> {
  try {
    return await streamResponse(exchange, form, {
      commitAfterMs: exchange.policy.commitAfterMs,
      through(events, own) {
        const kept = new KeptStream(events, form.heartbeat, {
          async end(recorded) {
            const fate = fateOf(exchange);
            if (fate === 'drop') await run.drop();
            else if (fate === 'lose') await run.lose();
            else if (!recorded) await run.tooLarge();
            else
              await run.keep({ status: 200, headers: { ...worthRepeating(exchange, headers), ...own }, ...recorded });
          },
          defect(error) {
            const stack = error instanceof Error ? error.stack : String(error);
            gateway.log.error('a stream failed on a defect', { decision: idText('dec_', exchange.decision), stack });
            return abandonLost(exchange, run);
          },
        });
        // As with any request: whether the body or the request tells it first is the server's affair.
        signal.addEventListener('abort', () => kept.leave());
        if (signal.aborted) kept.leave();
        return kept;
      },
    });
  } catch (cause) {
    tellPrice(exchange, headers);
    throw await failed(exchange, run, headers, cause);
  }
}

/** Of a stream's repeat only what was given back before its headers left. */
function tellGivenBack({ givenBack }: IdempotentRun, headers: HTTPHeaders): void {
  if (givenBack > 0) headers['x-signalbox-given-back'] = String(toCredits(givenBack));
}

/** What becomes of the answer of an exchange that has ended. */
function fateOf({ error, receipt, isDeserted }: Exchange): 'keep' | 'drop' | 'lose' {
  if (!error) return 'keep';
  // Nobody has the answer of a caller who left; the request may be sent again, for what it costs then.
  if (isDeserted || !receipt || receipt.platform.credits_consumed === 0) return 'drop';
  // A shutdown cut it off, which is not the caller's to bear.
  return error.code === 'overloaded' ? 'lose' : 'keep';
}

/** Ends the turn of a request that ends with an error, and returns that as it is to be told. */
async function failed(exchange: Exchange, run: IdempotentRun, headers: HTTPHeaders, cause: unknown): Promise<unknown> {
  if (!(cause instanceof SignalboxError) || !exchange.receipt) {
    await abandonLost(exchange, run);
    return cause;
  }
  const fate = fateOf(exchange);
  if (fate === 'drop') await run.drop();
  if (fate === 'lose') await run.lose();
  tellGivenBack(run, headers);
  if (fate !== 'keep') return exchange.funded.errorOf(cause, false);
  // It was charged, and the same again is all that a repeat would get.
  const { retryAfterMs: _, ...info } = cause.info;
  const told = exchange.funded.errorOf(new SignalboxError(cause.code, cause.message, { ...info, retry: false }), true);
  const own = { 'content-type': 'application/json', 'x-should-retry': 'false' };
  const body = JSON.stringify(errorBody(told));
  await run.keep({ status: told.status, headers: { ...worthRepeating(exchange, headers), ...own }, frame: '', body });
  tellGivenBack(run, headers);
  return told;
}

/** A defect here: what was charged until now is, and nothing is kept. */
async function abandonLost(exchange: Exchange, run: IdempotentRun): Promise<void> {
  exchange.abandon('caller-gone');
  await run.lose();
}

/** Headers about one request, not about its answer. */
const NOT_REPEATED: ReadonlySet<string> = new Set(['x-signalbox-version', 'x-signalbox-given-back']);

/** Of the headers of an answer, those that a replay has, too. */
function worthRepeating({ funded }: Exchange, headers: HTTPHeaders): Record<string, string> {
  const ofPayment = funded.headers;
  const repeated = Object.entries(headers).filter(
    ([name]) =>
      name === 'content-type' || name in ofPayment || (name.startsWith('x-signalbox-') && !NOT_REPEATED.has(name)),
  );
  return Object.fromEntries(repeated.map(([name, value]) => [name, String(value)]));
}

/** Of a kept error, by which it is told of as it was at first; null for any other answer. */
function codeOf({ status, body }: StoredAnswer): ErrorCode | null {
  if (status < 400) return null;
  const told: unknown = JSON.parse(body);
  return isError.Check(told) ? (ERROR_CODES.find((code) => code === told.error.code) ?? null) : null;
}

function replayOf({ status, headers, frame, body }: StoredAnswer): Response {
  const told = { status, headers: { ...headers, 'x-signalbox-replayed': 'true' } };
  return new Response(frame === '' ? body : unfolded(body, frame), told);
}

/** A stream's text, written out piece by piece: whole it may be many times as large as it is kept. */
function unfolded(body: string, frame: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const found = body.indexOf('\n\n', at + SLICE);
        const end = found < 0 ? body.length : found + 2;
        if (at < end) controller.enqueue(encoder.encode(body.slice(at, end).replaceAll(FRAME_MARK, () => frame)));
        at = end;
        if (at === body.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
