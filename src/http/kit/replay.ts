import { createHash } from 'node:crypto';
import type { HTTPHeaders } from 'elysia';
import type { ClaimRefusal, KeptRepeat, KeyedRequest } from '../../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import type { WaitLimits } from '../../access/idempotency/waits.ts';
import { bearerOf, secretOf } from '../../access/key.ts';
import { ERRORS, refuse, SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { toCredits } from '../../core/money/credits.ts';
import type { Caller } from '../../core/people/caller.ts';
import { isSubject } from '../../core/people/subject.ts';
import type { ServedRoute } from '../../dialects/surface.ts';
import type { AnswerSource, RunningAnswer } from '../../gateway/exchange/answer-source.ts';
import { KeptAnswer } from '../../gateway/exchange/kept-answer.ts';
import { replayedAnswer } from '../../gateway/exchange/replayed-answer.ts';
import type { Funding } from '../../gateway/money/funding.ts';
import { shuttingDown } from '../../gateway/request/drain.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import type { NamedRequest } from '../../gateway/request/served.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import { type AnswerForm, answer, jsonHeaders } from './answer.ts';
import { credentialsIn } from './credentials.ts';
import { isTemplate } from './path-template.ts';
import { UNREADABLE } from './repeats.ts';
import type { RouteServices } from './route-services.ts';
import { pathOf } from './route-table.ts';
import { codeOf, writtenResponse } from './written-answer.ts';

/** How soon to request an unfinished answer again, in ms. */
const RETRY_MS = 1_000;
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The name by which Signalbox recognises repeats of a request. */
export interface RequestName extends KeyedRequest {
  /** Whether the request continues after its caller disconnects, as with an `Idempotency-Key`. */
  readonly toTheEnd: boolean;
  /** The name's header, and the word for it in messages. */
  readonly label: string;
  readonly param: string;
  /** Whether a client may retry automatically while the request runs. */
  readonly canRetry: boolean;
}

/** A request with the headers of its response. */
interface ReplayableCall {
  readonly context: RequestContext;
  readonly request: Request;
  readonly headers: HTTPHeaders;
}

const BY_KEY = { label: 'Idempotency-Key', param: 'Idempotency-Key', toTheEnd: true, canRetry: true } as const;

/**
 * The name by which a repeat of the request is recognised: its `Idempotency-Key`, or else its payment, so that a caller can get a paid
 * answer again. Returns null if the request has neither an `Idempotency-Key` nor a payment.
 * @throws SignalboxError
 */
export function nameOf(
  context: RequestContext,
  origin: Request,
  { identity, caller }: Funding,
  served: ServedRoute,
  answerSecretOf: RouteServices['answerSecretOf'],
): RequestName | null {
  const { idempotencyKey: named } = context;
  if (named !== null) checkName(named);
  if (identity) {
    // An automatic retry is refused, because a client that retries automatically would sign another payment.
    return named === null
      ? { ...identity, toTheEnd: false, canRetry: false }
      : { ...identity, idempotencyKey: named, ...BY_KEY };
  }
  const body = context.body.hash && hashIn(served, context.body.hash, origin);
  // A request without a caller is not carried out.
  if (named === null || !body || !caller) return null;
  const { keyId } = caller;
  const secret = isSubject(keyId) ? answerSecretOf(keyId) : secretIn(origin.headers);
  return { keyId, secret, idempotencyKey: named, body, ...BY_KEY };
}

/** @throws SignalboxError `invalid_value` */
export function checkName(named: string): void {
  if (IDEMPOTENCY_KEY.test(named)) return;
  const message = '`Idempotency-Key` is not valid. Send 1 to 255 printable ASCII characters.';
  refuse('Idempotency-Key', message);
}

/** The secret of the API key in the headers. */
function secretIn(headers: Headers): string {
  const key = keyIn(headers);
  if (key === null) throw new Error('A request was admitted without an API key.');
  return secretOf(key);
}

const keyIn = (headers: Headers): string | null => bearerOf(credentialsIn(headers) ?? '');

/** Returns the secret with which answers of a caller are sealed; null if its request was sent without it. */
export function callerSecretOf(
  caller: Caller | null,
  { headers }: Request,
  { answerSecretOf, keyIdOf }: Pick<RouteServices, 'answerSecretOf' | 'keyIdOf'>,
): string | null {
  if (caller && isSubject(caller.keyId)) return answerSecretOf(caller.keyId);
  const key = keyIn(headers);
  return key !== null && keyIdOf(key) === caller?.keyId ? secretOf(key) : null;
}

/**
 * The hash of a request includes the dialect, because the same body in another dialect is a different request, and the path if the path is
 * a part of the request.
 */
function hashIn({ surface, route }: ServedRoute, bodyHash: Uint8Array, { url }: Request): Uint8Array {
  const own = isTemplate(route.path) ? `${surface.name}\0${pathOf(url)}` : surface.name;
  return createHash('sha256').update(`${own}\0`).update(bodyHash).digest();
}

/** The answer to a repeat. */
export interface StoredResponse {
  readonly kind: 'stored';
  readonly answer: Response | string;
}

/** A request that runs only once for its name. */
export interface NamedRun extends NamedRequest {
  readonly kind: 'run';
  /** Frees the name if the request ends before its exchange. */
  drop(): Promise<void>;
  /** Returns a source that stores the answer while it is read. */
  keep(answer: RunningAnswer): AnswerSource;
  /** Adds refunded Credits to the headers. For a stream, only refunds before its headers were sent are included. */
  addCredit(): void;
}

/**
 * Claims the name of a request: finds its stored answer, or starts its only run. If the policy allows it, a repeat waits while the first
 * request runs, and holds no money in that time.
 * @throws SignalboxError
 */
export async function claimName(
  services: RouteServices,
  name: RequestName,
  call: ReplayableCall,
  form: AnswerForm,
): Promise<NamedRun | StoredResponse> {
  const { gateway, idempotency } = services;
  const limits = name.canRetry ? waitLimits(services, call) : null;
  const claim = await orOverloaded(UNREADABLE, () =>
    limits ? idempotency.claimInTurn(name, limits) : idempotency.claim(name),
  );
  if (limits && claim.kind === 'in-flight' && gateway.isDraining) throw shuttingDown();
  if (claim.kind === 'replay') {
    return { kind: 'stored', answer: await replay(services, claim, name, call, form) };
  }
  if (claim.kind !== 'run') throw refusalError(claim, name);
  return namedRun(services, name, claim.run, call, form);
}

/**
 * The limits of the wait; null if repeats are refused. A repeat waits at most as long as the longest total deadline of any model, because
 * the model is not known before a decision.
 */
function waitLimits({ gateway, readmit }: RouteServices, { context, request }: ReplayableCall): WaitLimits | null {
  const { snapshot } = gateway.lease();
  if (snapshot.gateway.repeatsInFlight === 'refuse') return null;
  const { at, signal } = context;
  return { signal, ms: at + snapshot.totalMsMax - gateway.clock(), check: () => readmit(request, context) };
}

function namedRun(
  { gateway }: RouteServices,
  { toTheEnd }: RequestName,
  run: IdempotentRun,
  { headers }: ReplayableCall,
  { events, json }: AnswerForm,
): NamedRun {
  const isStream = events !== null;
  const whole = isStream ? null : { writer: json, headers: jsonHeaders };
  const addCredit = () => {
    if (run.givenBack > 0) headers['x-signalbox-given-back'] = String(toCredits(run.givenBack));
  };
  return {
    kind: 'run',
    claim: run,
    toTheEnd,
    addCredit,
    async drop() {
      await run.drop();
      addCredit();
    },
    keep(exchange) {
      addCredit();
      const onDefect = (error: unknown) => {
        if (!isStream) return;
        const stack = error instanceof Error ? error.stack : String(error);
        gateway.log.error('a stream failed: internal error', { decision: idText('dec_', exchange.decision), stack });
      };
      return new KeptAnswer({ source: exchange, run, isStream, whole, onDefect });
    },
  };
}

/** Sends a stored answer again. */
async function replay(
  { gateway, repeats }: RouteServices,
  claim: KeptRepeat,
  name: RequestName,
  { context, headers }: ReplayableCall,
  form: AnswerForm,
): Promise<Response | string> {
  const { decision } = claim;
  const repeat = await repeats.open(claim, name.keyId, context);
  const { answer: stored } = repeat;
  const policy = gateway.lease().snapshot.gateway;
  if (stored && !('parts' in stored)) {
    context.answer.replays(codeOf(stored), idText('dec_', decision));
    return writtenResponse(stored, repeat);
  }
  const source = stored && replayedAnswer(decision, stored.parts, repeat);
  if (!source) {
    repeat.leave();
    throw refusalError({ kind: 'unavailable', decision }, name);
  }
  context.answer.replays(null, idText('dec_', decision));
  headers['x-signalbox-replayed'] = 'true';
  Object.assign(headers, stored.headers);
  return answer(source, form, headers, policy);
}

function refusalError(refusal: ClaimRefusal, { label, param, canRetry }: RequestName): SignalboxError {
  switch (refusal.kind) {
    case 'in-flight':
      return stillRunning(label, canRetry);
    case 'reused':
      return keyReused();
    case 'unavailable': {
      const decision = idText('dec_', refusal.decision);
      return new SignalboxError(
        'idempotency_answer_unavailable',
        `This request was charged as ${decision}, but its answer cannot be repeated. To run the request again and pay for it, send a new ${label}.`,
        { param, details: { decision_id: decision } },
      );
    }
  }
}

/** The error for a different request with a name that is already used. */
export function keyReused(): SignalboxError {
  const message = `${ERRORS.idempotency_key_reused.means} Use a new key for a new request.`;
  return new SignalboxError('idempotency_key_reused', message, { param: 'Idempotency-Key' });
}

/** The error for a repeat while the first request runs. */
export const stillRunning = (label: string, canRetry: boolean): SignalboxError =>
  new SignalboxError('in_flight', `A request with this ${label} is still running.`, {
    retryAfterMs: RETRY_MS,
    ...(!canRetry && { retry: false }),
  });
