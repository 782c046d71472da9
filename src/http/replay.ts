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
import { beginChat } from '../gateway/chat.ts';
import type { Exchange } from '../gateway/exchange.ts';
import type { Payer } from '../gateway/x402/payer.ts';
import { ofPayment } from '../gateway/x402/platform-payment.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { errorBody } from '../surface/openai-chat/error.ts';
import type { EventForm, Surface } from '../surface/surface.ts';
import { jsonBody, tellPrice } from './answer.ts';
import type { RouteContext } from './context.ts';
import { KeptStream } from './kept-stream.ts';
import { streamResponse } from './stream.ts';
import { type Arrived, afterPayment, askByPayment, PAYMENT_HEADERS, tellPayment } from './x402/payer.ts';

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
  /** Whether it was named by its payment. */
  readonly isPaid: boolean;
}

/**
 * The request as it is known by: its `Idempotency-Key`, or else its payment, for what was paid must be had. Null for
 * one with neither. What is kept for a payment can only be opened with the same signature and quote.
 */
export function askOf({ asked: { named, context }, request }: Arrived, payer: Payer): OnceAsk | null {
  if (named !== null && !IDEMPOTENCY_KEY.test(named)) {
    throw new SignalboxError('invalid_value', '`Idempotency-Key` must have 1 to 255 printable ASCII characters.', {
      param: 'Idempotency-Key',
    });
  }
  if (payer.kind === 'offer') {
    const ask = askByPayment(payer.offer);
    return named === null
      ? { ...ask, toTheEnd: false, isPaid: true }
      : { ...ask, idempotencyKey: named, toTheEnd: true, isPaid: false };
  }
  const body = context.bodyHash;
  // Nothing is carried out for nobody.
  if (named === null || !body || payer.kind === 'nobody') return null;
  const key = parseKey(bearerOf(request.headers.get('authorization') ?? '') ?? '');
  if (!key) throw new Error('a request was admitted without an API key');
  const { keyId } = payer.caller;
  return { keyId, secret: key.secret, idempotencyKey: named, body, toTheEnd: true, isPaid: false };
}

/**
 * Answers a request that is known by a name: with the answer that was kept, or by carrying it out and keeping what
 * comes of it.
 */
export async function answerOnce(
  services: RouteContext,
  ask: OnceAsk,
  payer: Payer,
  arrived: Arrived,
  { surface, events }: AnswerForm,
): Promise<Response | string> {
  const { asked, request, headers } = arrived;
  const { context } = asked;
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
    exchange = await beginChat(services.gateway, asked, payer, { claim: run, toTheEnd: ask.toTheEnd });
  } catch (cause) {
    await run.drop();
    throw cause;
  } finally {
    tellGivenBack(run, headers);
  }
  context.addLimitHeaders(headers);
  headers['x-signalbox-decision-id'] = idText('dec_', exchange.decision);
  tellPayment(exchange.payment, headers);
  if (!ask.toTheEnd) {
    request.signal.addEventListener('abort', () => exchange.abandon('caller-gone'));
    if (request.signal.aborted) exchange.abandon('caller-gone');
  }
  if (!events) return jsonOnce(exchange, surface, run, headers);
  return streamOnce(services, exchange, events, run, arrived);
}

const claimed = ({ idempotency }: RouteContext, ask: KeyedRequest): Promise<Claim> =>
  orOverloaded('Kept answers cannot be looked up, so nothing was begun; try again.', () => idempotency.claim(ask));

function refusalError(refusal: ClaimRefusal, { isPaid }: OnceAsk): SignalboxError {
  const what = isPaid ? 'payment' : 'Idempotency-Key';
  switch (refusal.kind) {
    case 'in-flight':
      return new SignalboxError('in_flight', `The request with this ${what} is still running.`, {
        retryAfterMs: RETRY_MS,
        // A client that repeats it by itself would sign another payment.
        ...(isPaid && { retry: false }),
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
        `This request was charged as ${decision}, and its answer cannot be given again; to pay for another, send a new ${what}.`,
        { param: isPaid ? 'PAYMENT-SIGNATURE' : 'Idempotency-Key', details: { decision_id: decision } },
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
  await run.keep({ status: 200, headers: worthRepeating(headers), frame: '', body });
  tellGivenBack(run, headers);
  return body;
}

async function streamOnce(
  { gateway }: RouteContext,
  exchange: Exchange,
  form: EventForm,
  run: IdempotentRun,
  { request: { signal }, headers }: Arrived,
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
            else await run.keep({ status: 200, headers: { ...worthRepeating(headers), ...own }, ...recorded });
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
  if (fate !== 'keep') return afterPayment(cause, exchange.payment);
  // It was charged, and the same again is all that a repeat would get.
  const { retryAfterMs: _, ...info } = cause.info;
  const told = ofPayment(new SignalboxError(cause.code, cause.message, { ...info, retry: false }), exchange.payment);
  const own = { 'content-type': 'application/json', 'x-should-retry': 'false' };
  const body = JSON.stringify(errorBody(told));
  await run.keep({ status: told.status, headers: { ...worthRepeating(headers), ...own }, frame: '', body });
  tellGivenBack(run, headers);
  return told;
}

/** A defect here: what was charged until now is, and nothing is kept. */
async function abandonLost(exchange: Exchange, run: IdempotentRun): Promise<void> {
  exchange.abandon('caller-gone');
  await run.lose();
}

/** What else of an answer's headers is worth repeating. */
const OF_PAYMENTS: ReadonlySet<string> = new Set(PAYMENT_HEADERS);
/** What is about this request, not about its answer. */
const NOT_REPEATED: ReadonlySet<string> = new Set(['x-signalbox-version', 'x-signalbox-given-back']);

/** Of the headers of an answer, those that a replay has, too. */
function worthRepeating(headers: HTTPHeaders): Record<string, string> {
  const repeated = Object.entries(headers).filter(
    ([name]) =>
      name === 'content-type' || OF_PAYMENTS.has(name) || (name.startsWith('x-signalbox-') && !NOT_REPEATED.has(name)),
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
