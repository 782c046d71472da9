import { createHash } from 'node:crypto';
import type { HTTPHeaders } from 'elysia';
import type { Claim, ClaimRefusal, KeyedRequest } from '../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../access/idempotency/run.ts';
import { bearerOf, parseKey } from '../access/key.ts';
import { toCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import type { Exchange } from '../gateway/exchange.ts';
import type { Funding } from '../gateway/funding.ts';
import { KeptAnswer } from '../gateway/kept-answer.ts';
import { beginChat, type ChatCall } from '../gateway/pipeline.ts';
import { replayedAnswer } from '../gateway/replayed-answer.ts';
import type { RequestContext } from '../gateway/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { openaiChat } from '../surface/openai-chat/surface.ts';
import type { Surface } from '../surface/surface.ts';
import { type AnswerForm, answer } from './answer.ts';
import type { RouteContext } from './context.ts';
import { credentialsIn } from './routes.ts';
import { codeOf, writtenResponse } from './written-answer.ts';

/** When to ask again for an answer that is being made. */
const RETRY_MS = 1_000;
/** A stored answer opens at once. */
const REPLAY_COMMIT_MS = 1_000;
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
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
export function askOf(
  context: RequestContext,
  headers: Headers,
  { identity, caller }: Funding,
  surface: Surface,
): OnceAsk | null {
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
  const body = context.bodyHash && hashIn(surface, context.bodyHash);
  // Without a caller nothing is carried out.
  if (named === null || !body || !caller) return null;
  const key = parseKey(bearerOf(credentialsIn(headers, surface.keyHeader) ?? '') ?? '');
  if (!key) throw new Error('a request was admitted without an API key');
  return { keyId: caller.keyId, secret: key.secret, idempotencyKey: named, body, ...BY_KEY };
}

/** The same body asks for something else in another dialect. Version 0.1 knew only OpenAI's, and stored the plain hash. */
const hashIn = ({ name }: Surface, bodyHash: Uint8Array): Uint8Array =>
  name === openaiChat.name ? bodyHash : createHash('sha256').update(`${name}\0`).update(bodyHash).digest();

/**
 * Answers a request that is known by a name: with the stored answer, or by carrying it out and storing the answer.
 * @throws SignalboxError
 */
export async function answerOnce(
  services: RouteContext,
  ask: OnceAsk,
  funding: Funding,
  call: ReplayableCall,
  form: AnswerForm,
): Promise<Response | string> {
  const { context, headers } = call;
  const claim = await claimed(services, ask);
  if (claim.kind === 'replay') return replay(claim, ask, call, form);
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
  Object.assign(headers, exchange.funded.headers);
  const isStream = form.events !== null;
  const onDefect = (error: unknown) => {
    const stack = error instanceof Error ? error.stack : String(error);
    if (isStream) {
      services.gateway.log.error('a stream failed on a defect', { decision: idText('dec_', exchange.decision), stack });
    }
  };
  const kept = new KeptAnswer({ source: exchange, run, isStream, onDefect });
  const { signal } = context;
  // Either the body or the request may report first that the caller has left.
  const leave = () => {
    if (!ask.toTheEnd) exchange.abandon('caller-gone');
    kept.abandon('caller-gone');
  };
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  try {
    return await answer(kept, form, headers, exchange.policy.commitAfterMs);
  } finally {
    // Of a stream, only the credit that was given before its headers left.
    tellGivenBack(run, headers);
  }
}

/** Gives a stored answer again. */
function replay(
  { answer: stored, decision }: Extract<Claim, { kind: 'replay' }>,
  ask: OnceAsk,
  { context, headers }: ReplayableCall,
  form: AnswerForm,
): Response | Promise<Response | string> {
  context.isReplayed = true;
  context.decisionId = idText('dec_', decision);
  if (!('parts' in stored)) {
    context.code = codeOf(stored);
    return writtenResponse(stored);
  }
  const source = replayedAnswer(decision, stored.parts);
  if (!source) throw refusalError({ kind: 'unavailable', decision }, ask);
  headers['x-signalbox-replayed'] = 'true';
  Object.assign(headers, stored.headers);
  return answer(source, form, headers, REPLAY_COMMIT_MS);
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

function tellGivenBack({ givenBack }: IdempotentRun, headers: HTTPHeaders): void {
  if (givenBack > 0) headers['x-signalbox-given-back'] = String(toCredits(givenBack));
}
