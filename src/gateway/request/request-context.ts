import type { GatePlace } from '../../access/limits/gate.ts';
import type { Quota } from '../../access/limits/quota.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { DecisionOutcome, DecisionRecord } from '../../core/decision/record.ts';
import type { ErrorCode, SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { LinkedSet, Links } from '../../core/linked-set.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Platform } from '../../core/request/answer.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { Operation } from '../../core/request/operation.ts';
import { NO_RUN, type RunNames } from '../../core/request/run-names.ts';
import type { Trace, TraceStep } from '../../host/telemetry/trace.ts';
import type { PreparedRequest } from './prepared.ts';

/** The latest decision that was tried for a request, whether or not it found a model. */
export interface RoutingAttempt {
  /** The facts of the request, with the rules that applied. */
  readonly facts: Facts;
  readonly snapshot: PolicySnapshot;
  /** How many models were rejected for each reason, in the order of `REJECTIONS`. */
  readonly rejections: ArrayLike<number>;
}

/** The end of an exchange, as the log, metrics and traces report it. */
export interface ExchangeResult {
  readonly outcome: DecisionOutcome;
  readonly platform: Platform;
}

/** How a provider's count of a prompt ended. */
export interface PromptCountEnd {
  readonly provider: string;
  /** `refused`: the provider does not count prompts of this kind. `failed`: the provider may be able to count the prompt later. */
  readonly end: 'counted' | 'refused' | 'failed';
}

/** The caller, the slot at the gate and the rate limits of an admitted request. */
export interface Admission {
  /** The caller; null for a caller without a key, until a payer has proved its identity. */
  readonly caller: Caller | null;
  /** The slot of the request at the gate; null on routes that do not count against the gate. */
  readonly place: GatePlace | null;
  /** The rate limits of the request; null on routes that do not count, and without a key. */
  readonly quota: Quota | null;
  /**
   * Checks a payer that has proved its identity, and counts its request unless a key was already counted.
   * @returns a promise if the store is queried; it rejects with the same errors
   * @throws SignalboxError `insufficient_permissions` for a blocked payer, or `rate_limit_exceeded`
   */
  acceptPayer(payer: Caller): Awaitable<Quota | null>;
}

/** The exchange of a request, as far as the context uses it. */
interface RunningWork {
  readonly recorder: { running(): DecisionRecord };
  abandon(error: SignalboxError): void;
}

/**
 * The context of a request, from the first byte until the request is answered and all its work has ended. The HTTP edge makes the context.
 * Every step of a request notes facts in the context, from which the log, metrics and the trace are written at the end.
 *
 * The slot at the gate, the rate limits and the trace of the request end together, exactly once: after `handled`, and also after `endWork`
 * if `beginWork` was called.
 */
export class RequestContext implements Links<RequestContext> {
  /** The number of the request, see `core/id.ts`. */
  readonly requestNumber: number;
  /** `req_…` */
  readonly requestId: string;
  /** The time of arrival, ms on the gateway's clock. */
  readonly at: number;
  readonly method: string;
  /** The trace of the request; null while nothing is traced. */
  readonly trace: Trace | null;
  /** The pattern of the route, such as `/v1/decisions/:id`; `other` for an unknown path. */
  readonly route: string;
  /** The operation that a model performs for its route; null for other routes. */
  operation: Operation | null = null;
  /** The caller; null until the key is read, or a payer has proved its identity. */
  caller: Caller | null = null;
  /**
   * Who sends the request for the caller without the caller's secret, through the playground: the ID of a user or of the key. Null if the
   * caller itself sends the request.
   */
  sentBy: string | null = null;
  /**
   * The slot at the gate. On routes that do not count against the gate, it is only memory for the body. Null if no body is read, and before
   * admission.
   */
  place: GatePlace | null = null;
  /** The names of the request's run (an agent's session), as the books and records store them. */
  run: RunNames = NO_RUN;
  /** The size of the body according to its `content-length`, in bytes; 0 for none. */
  bodyBytes = 0;
  /** The largest body that the request's route accepts from the caller, in bytes; 0 before admission. */
  bodyBytesMax = 0;
  /** The value of the request's header `Idempotency-Key`; null if the request has no such header. */
  idempotencyKey: string | null = null;
  /** SHA-256 of the body of a request with an `Idempotency-Key`; null for a request without this header. */
  bodyHash: Uint8Array | null = null;
  /** The HTTP status; 0 without an answer. */
  status = 0;
  /** The code of the error that was answered; null for none. The error of a broken stream is in `result`. */
  code: ErrorCode | null = null;
  /** The request as models may receive it; null before it is prepared. */
  prepared: PreparedRequest | null = null;
  /** The error that was answered; null for none, and for the error of a stored answer. */
  error: SignalboxError | null = null;
  /** The address of a request that was answered with an error; '' for any other request. */
  url = '';
  /** The parsed body; null before the body is read. */
  body: unknown = null;
  /** The caller of a suspended key; null for any other caller. */
  suspended: Caller | null = null;
  /** Whether a person sent the request with the cookie of a login. */
  isSignedIn = false;
  /** The latest decision that was tried; null before the first. */
  routing: RoutingAttempt | null = null;
  /** `dec_…` once the decision is stored. A request that is refused for lack of money stores none. */
  decisionId: string | null = null;
  /** The end of the exchange; null until the exchange has ended. */
  result: ExchangeResult | null = null;
  /** The charged usage of failed attempts, as their providers reported it; null for none. */
  failedUsage: Usage[] | null = null;
  /** The results of providers that counted the request's prompt; null for none. */
  promptCounts: PromptCountEnd[] | null = null;
  /** Whether a choice of the answer ended at the limit of its output, or for lack of money. */
  hasReachedCap = false;
  /** Whether a stored answer was sent again. */
  isReplayed = false;
  isStream = false;
  /** When the decision began, ms on the gateway's clock; NaN before that. */
  startedAt = Number.NaN;
  /** The time of the first upstream call, ms on the gateway's clock; NaN for none. */
  dispatchedAt = Number.NaN;
  /** When the request ended, ms on the gateway's clock; NaN before that. */
  endedAt = Number.NaN;
  before: RequestContext | null = null;
  after: RequestContext | null = null;
  readonly #origin: Pick<Request, 'signal'>;
  readonly #onEnd: (context: RequestContext) => void;
  #admission: Admission | null = null;
  #quota: Quota | null = null;
  #isPayerAccepted = false;
  #isHandled = false;
  #isWorking = false;
  #isOver = false;
  #whenOver: (() => void) | null = null;
  /** The list of requests that a shutdown waits for, while this request is in it. */
  #inFlight: LinkedSet<RequestContext> | null = null;
  /** The exchange; null before it exists and after it has ended. */
  #work: RunningWork | null = null;
  #cutOff: SignalboxError | null = null;

  /**
   * @param origin the HTTP request
   * @param at ms on the gateway's clock
   * @param onEnd called once, when the request has ended
   */
  constructor(
    origin: Pick<Request, 'method' | 'signal'>,
    id: number,
    at: number,
    route: string,
    trace: Trace | null = null,
    onEnd: (context: RequestContext) => void = () => {},
  ) {
    this.#origin = origin;
    this.requestNumber = id;
    this.requestId = idText('req_', id);
    this.at = at;
    this.method = origin.method;
    this.route = route;
    this.trace = trace;
    this.#onEnd = onEnd;
  }

  /** Aborted when the caller disconnects. The server creates the signal when it is first read. */
  get signal(): AbortSignal {
    return this.#origin.signal;
  }

  /** The ID of the caller's key; null while the caller is unknown. */
  get keyId(): string | null {
    return this.caller?.keyId ?? null;
  }

  /** The caller on a route that needs a key. */
  get knownCaller(): Caller {
    if (!this.caller) throw new Error('a request without a key came to a handler that needs one');
    return this.caller;
  }

  /** Whether the caller disconnected before there was an answer. */
  get isUnanswered(): boolean {
    return this.status === 0 && this.code === null;
  }

  get isAdmitted(): boolean {
    return this.#admission !== null;
  }

  step(step: TraceStep): void {
    this.trace?.step(step);
  }

  /** Notes the charged usage of a failed attempt. */
  addFailedUsage(usage: Usage): void {
    this.failedUsage ??= [];
    this.failedUsage.push(usage);
  }

  addPromptCount(count: PromptCountEnd): void {
    this.promptCounts ??= [];
    this.promptCounts.push(count);
  }

  /** Takes over the place, rate limits and other resources of the request's admission. */
  admit(admission: Admission): void {
    // The request was already refused while the server looked up its caller.
    if (this.#isOver) {
      admission.quota?.undo();
      admission.place?.leave();
      return;
    }
    this.#admission = admission;
    this.place = admission.place;
    this.#quota = admission.quota;
    this.caller = admission.caller;
  }

  /**
   * Accepts a payer that has proved its identity. Without a key, the payer becomes the caller and counts against the rate limits from here
   * on. Later calls do nothing.
   * @returns a promise if the store is queried; it rejects with the same errors
   * @throws SignalboxError `insufficient_permissions` for a blocked payer, or `rate_limit_exceeded`
   */
  acceptPayer(payer: Caller): Awaitable<void> {
    if (this.#isPayerAccepted) return;
    return whenReady(this.#admission?.acceptPayer(payer) ?? null, (quota) => {
      this.#quota ??= quota;
      this.#isPayerAccepted = true;
      this.caller ??= payer;
    });
  }

  /**
   * Waits for the request's turn at the gate. A caller who disconnects while waiting releases the place at once.
   * @returns null if the request may go on at once; else a promise that rejects with SignalboxError `overloaded` if the request may not go
   * on
   */
  awaitTurn(): Promise<void> | null {
    const turn = this.place?.turn;
    return turn ? this.#wait(turn) : null;
  }

  async #wait(turn: Promise<void>): Promise<void> {
    const { signal } = this;
    const leave = () => this.#close();
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      await turn;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /**
   * Begins work that may outlive the handler.
   * @param tokens expected tokens of input and output
   * @returns a promise if limits are checked in the store; it rejects with the same errors
   * @throws SignalboxError `rate_limit_exceeded`
   */
  beginWork(stream: boolean, tokens: number): Awaitable<void> {
    return whenReady(this.#quota?.begin(stream, tokens), () => {
      this.#isWorking = true;
    });
  }

  /**
   * Ends the work, so that a shutdown no longer waits for it. Later calls do nothing.
   * @param tokens used tokens of input and output
   */
  endWork(tokens: number): void {
    this.leaveFlight();
    if (!this.#isWorking) return;
    this.#isWorking = false;
    this.#quota?.end(tokens);
    this.#endIfDone();
  }

  /** Adds this request to the requests that a shutdown waits for. */
  enterFlight(inFlight: LinkedSet<RequestContext>): void {
    this.#inFlight = inFlight;
    inFlight.add(this);
  }

  /**
   * Removes this request from the requests that a shutdown waits for. The call does nothing if a shutdown does not wait for this request.
   */
  leaveFlight(): void {
    this.#inFlight?.remove(this);
    this.#inFlight = null;
    this.#work = null;
  }

  /** Notes the exchange of this request. If a shutdown has already cut off the request, abandons the exchange. */
  attach(work: RunningWork): void {
    this.#work = work;
    if (this.#cutOff) work.abandon(this.#cutOff);
  }

  /** Makes the record of the request's decision while the exchange runs; null before the exchange, and once the final record exists. */
  runningRecord(): DecisionRecord | null {
    return this.result === null ? (this.#work?.recorder.running() ?? null) : null;
  }

  /** Ends the work of this request with an error, now or as soon as it begins. */
  cutOff(error: SignalboxError): void {
    this.#cutOff = error;
    this.#work?.abandon(error);
  }

  /**
   * Notes the end of the handler; the last call before the end counts. A request that was not admitted ends with this call.
   * @param status the status of the answer
   * @param code the code of the error that was answered; null for none
   */
  handled(status: number, code: ErrorCode | null): void {
    // If the caller has disconnected, no client receives the error, so the error is not counted.
    const isDeserted = code !== null && this.#isDeserted(code);
    this.status = isDeserted ? 0 : status;
    // For a stored answer, the code of its error was noted when the answer was found.
    if (isDeserted) this.code = null;
    else if (code !== null || !this.isReplayed) this.code = code;
    this.#close();
  }

  /** Notes the end of the handler with an error that is answered. @param url the address of the request */
  failed(error: SignalboxError, url: string): void {
    this.error = error;
    this.url = url;
    this.handled(error.status, error.code);
  }

  /** Calls `end` once the request has ended. Only the last listener is called. */
  whenOver(end: () => void): void {
    this.#whenOver = end;
  }

  /** Adds the `x-ratelimit-…` headers to the headers of the answer. */
  addLimitHeaders(headers: Record<string, string | number>): void {
    if (this.#quota) Object.assign(headers, this.#quota.headers());
  }

  /** Whether an error occurred after the caller had disconnected. A defect still counts as an error, and so does a refusal at admission. */
  #isDeserted(code: ErrorCode): boolean {
    if (!this.isAdmitted || code === 'internal_error' || !this.signal.aborted) return false;
    return this.result === null || this.result.outcome.status === 'abandoned';
  }

  #close(): void {
    if (this.#isHandled) return;
    this.#isHandled = true;
    this.#endIfDone();
  }

  /** Every request ends in this method. */
  #endIfDone(): void {
    if (!this.#isHandled || this.#isWorking || this.#isOver) return;
    this.#isOver = true;
    this.#quota?.close();
    this.place?.leave();
    this.#whenOver?.();
    this.#onEnd(this);
  }
}

/** Makes the record of a decision whose request is in this list, by the ID of the decision or the request; null if there is none. */
export function findRunning(inFlight: LinkedSet<RequestContext>, id: number): DecisionRecord | null {
  const decisionId = idText('dec_', id);
  const request = inFlight.all().find((one) => one.decisionId === decisionId || one.requestNumber === id);
  return request?.runningRecord() ?? null;
}

/** Returns the selector of a request, or `pinned` if it names a model. */
export const selectorOf = ({ facts }: RoutingAttempt): string => (facts.pinned ? 'pinned' : facts.model);
