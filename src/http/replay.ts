import { createHash } from 'node:crypto';
import type { HTTPHeaders } from 'elysia';
import type { Claim, ClaimRefusal, KeyedRequest } from '../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../access/idempotency/run.ts';
import type { WaitLimits } from '../access/idempotency/waits.ts';
import { bearerOf, parseKey } from '../access/key.ts';
import { toCredits } from '../core/credits.ts';
import { ERRORS, refuse, SignalboxError } from '../core/errors.ts';
import { idText } from '../core/id.ts';
import { isSubject } from '../core/subject.ts';
import { openaiChat } from '../dialects/openai-chat/surface.ts';
import type { Surface } from '../dialects/surface.ts';
import type { AnswerSource, RunningAnswer } from '../gateway/exchange/answer-source.ts';
import { KeptAnswer } from '../gateway/exchange/kept-answer.ts';
import { replayedAnswer } from '../gateway/exchange/replayed-answer.ts';
import type { Funding } from '../gateway/money/funding.ts';
import { shuttingDown } from '../gateway/request/drain.ts';
import type { NamedRequest } from '../gateway/request/pipeline.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';
import { type AnswerForm, answer } from './answer.ts';
import { credentialsIn } from './credentials.ts';
import type { RouteServices } from './route-services.ts';
import type { StreamPolicy } from './stream.ts';
import { codeOf, writtenResponse } from './written-answer.ts';

/** When to ask again for an answer that is being made. */
const RETRY_MS = 1_000;
export const UNREADABLE = 'Stored answers cannot be read, so the request was not started; try again.';
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The name by which repeats of a request are recognized. */
export interface RequestName extends KeyedRequest {
  /** Whether the request goes on after its caller has left, as an `Idempotency-Key` asks for. */
  readonly toTheEnd: boolean;
  /** The word for its name in a text, and the header that brings it. */
  readonly label: string;
  readonly param: string;
  /** Whether a client may repeat it by itself while it runs. */
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
 * The name by which a repeat of the request is recognized: its `Idempotency-Key`, or else its payment, so that a paid
 * answer can be had again. Null for one with neither. Throws SignalboxError.
 */
export function nameOf(
  context: RequestContext,
  headers: Headers,
  { identity, caller }: Funding,
  surface: Surface,
  answerSecretOf: RouteServices['answerSecretOf'],
): RequestName | null {
  const { idempotencyKey: named } = context;
  if (named !== null) checkName(named);
  if (identity) {
    // A client that repeats it by itself would sign another payment.
    return named === null
      ? { ...identity, toTheEnd: false, canRetry: false }
      : { ...identity, idempotencyKey: named, ...BY_KEY };
  }
  const body = context.bodyHash && hashIn(surface, context.bodyHash);
  // Without a caller nothing is carried out.
  if (named === null || !body || !caller) return null;
  const { keyId } = caller;
  const secret = isSubject(keyId) ? answerSecretOf(keyId) : secretIn(headers);
  return { keyId, secret, idempotencyKey: named, body, ...BY_KEY };
}

/** @throws SignalboxError `invalid_value` */
export function checkName(named: string): void {
  if (IDEMPOTENCY_KEY.test(named)) return;
  const message = '`Idempotency-Key` must have 1 to 255 printable ASCII characters.';
  refuse('Idempotency-Key', message);
}

/** Of the API key that was sent. */
function secretIn(headers: Headers): string {
  const key = parseKey(bearerOf(credentialsIn(headers) ?? '') ?? '');
  if (!key) throw new Error('a request was admitted without an API key');
  return key.secret;
}

/** The same body asks for something else in another dialect. Version 0.1 knew only OpenAI's, and stored the plain hash. */
const hashIn = ({ name }: Surface, bodyHash: Uint8Array): Uint8Array =>
  name === openaiChat.name ? bodyHash : createHash('sha256').update(`${name}\0`).update(bodyHash).digest();

/** The answer to a repeat. */
export interface StoredResponse {
  readonly kind: 'stored';
  readonly answer: Response | string;
}

/** A request that is carried out once for its name. */
export interface NamedRun extends NamedRequest {
  readonly kind: 'run';
  /** Gives the name back, where the request ends before its exchange. */
  drop(): Promise<void>;
  /** Returns the source that stores the answer as it is read. */
  keep(answer: RunningAnswer): AnswerSource;
  /** Adds credit that was given back to the headers. Of a stream, only the credit that was given before its headers left. */
  addCredit(): void;
}

/**
 * Claims the name of a request: finds its stored answer, or begins its one run. Where the policy says so, a repeat waits while
 * the first request runs, and holds no money then.
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
    const policy = gateway.lease().snapshot.gateway;
    return { kind: 'stored', answer: await replay(claim, name, call, form, policy) };
  }
  if (claim.kind !== 'run') throw refusalError(claim, name);
  return namedRun(services, name, claim.run, call, form.events !== null);
}

/** Null where repeats are refused. The model is not known before a decision, so the longest total deadline counts. */
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
  isStream: boolean,
): NamedRun {
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
      return new KeptAnswer({ source: exchange, run, isStream, onDefect });
    },
  };
}

/** Gives a stored answer again. */
function replay(
  { answer: stored, decision }: Extract<Claim, { kind: 'replay' }>,
  name: RequestName,
  { context, headers }: ReplayableCall,
  form: AnswerForm,
  policy: StreamPolicy,
): Response | Promise<Response | string> {
  context.isReplayed = true;
  context.decisionId = idText('dec_', decision);
  if (!('parts' in stored)) {
    context.code = codeOf(stored);
    return writtenResponse(stored, policy);
  }
  const source = replayedAnswer(decision, stored.parts);
  if (!source) throw refusalError({ kind: 'unavailable', decision }, name);
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
        `This request was charged as ${decision}, but its answer cannot be repeated. To run and pay for the request again, send a new ${label}.`,
        { param, details: { decision_id: decision } },
      );
    }
  }
}

/** The refusal of another request under a name that was used. */
export function keyReused(): SignalboxError {
  const message = `${ERRORS.idempotency_key_reused.means} Use a new key for a new request.`;
  return new SignalboxError('idempotency_key_reused', message, { param: 'Idempotency-Key' });
}

/** The refusal of a repeat while the first request runs. */
export const stillRunning = (label: string, canRetry: boolean): SignalboxError =>
  new SignalboxError('in_flight', `A request with this ${label} is still running.`, {
    retryAfterMs: RETRY_MS,
    ...(!canRetry && { retry: false }),
  });
