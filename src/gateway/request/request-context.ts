import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import type { ErrorCode, SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Operation } from '../../core/kinds/operations.ts';
import type { LinkedSet, Links } from '../../core/linked-set.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { Trace, TraceStep } from '../../host/telemetry/trace.ts';
import { ExchangeFacts } from '../exchange/exchange-facts.ts';
import { AnswerFacts, BodyFacts, ClientFacts, WorkFacts } from './request-facts.ts';
import { type Admission, type RequestEnd, RequestLife } from './request-life.ts';

/** The exchange of a request, as far as the context uses it. */
interface RunningWork {
  readonly recorder: { running(): DecisionRecord };
  abandon(error: SignalboxError): void;
}

/** The HTTP request, as far as the context uses it. */
type Origin = Pick<Request, 'method' | 'signal'> & Partial<Pick<Request, 'headers' | 'url'>>;

/** The rule of a request's route, as far as the context uses it. */
export interface RequestRule {
  /** The operation that a model performs for the route; absent for other routes. */
  readonly operation?: Operation;
  /** Whether the route counts against the gate. Only its requests may do work for a model. */
  readonly counts?: boolean;
}

/** The facts of all requests that do no work for a model. */
const NO_WORK: WorkFacts = Object.freeze(new WorkFacts());
const NO_EXCHANGE: ExchangeFacts = Object.freeze(new ExchangeFacts());

/**
 * The context of a request, from the first byte until the request is answered and all its work has ended. The HTTP edge makes the context.
 * Its parts are facts that one module each notes, and from which the log, metrics and the trace are written at the end.
 *
 * The slot at the gate, the rate limits and the trace of the request end together, exactly once: after `handled`, and also after `endWork`
 * if `beginWork` was called.
 */
export class RequestContext implements Links<RequestContext>, RequestEnd {
  /** See `core/id.ts`. */
  readonly requestNumber: number;
  /** `req_…` */
  readonly requestId: string;
  /** The time of arrival, ms on the gateway's clock. */
  readonly at: number;
  readonly method: string;
  /** The pattern of the route, such as `/v1/decisions/:id`; `other` for an unknown path. */
  readonly route: string;
  /** The value of the header `Idempotency-Key`; null for none. */
  readonly idempotencyKey: string | null;
  /** Null while nothing is traced. */
  readonly trace: Trace | null;
  /** The operation that a model performs for the request; null for none. */
  operation: Operation | null;
  readonly client = new ClientFacts();
  readonly body = new BodyFacts();
  /** Whether the request may do work for a model. */
  readonly hasWork: boolean;
  readonly work: WorkFacts;
  readonly exchange: ExchangeFacts;
  readonly answer = new AnswerFacts();
  readonly life = new RequestLife(this);
  /** When the request ended, ms on the gateway's clock; NaN before that. */
  endedAt = Number.NaN;
  before: RequestContext | null = null;
  after: RequestContext | null = null;
  readonly #origin: Origin;
  readonly #onEnd: ((context: RequestContext) => void) | undefined;
  /** The list of requests that a shutdown waits for, while this request is in it. */
  #inFlight: LinkedSet<RequestContext> | null = null;
  /** The exchange; null before it exists and after it has ended. */
  #running: RunningWork | null = null;
  #cutOff: SignalboxError | null = null;

  /**
   * @param rule undefined for an unknown path or method
   * @param onEnd called once, when the request has ended
   */
  constructor(
    origin: Origin,
    requestNumber: number,
    at: number,
    route: string,
    rule: RequestRule | undefined,
    trace: Trace | null,
    onEnd?: (context: RequestContext) => void,
  ) {
    this.#origin = origin;
    this.requestNumber = requestNumber;
    this.requestId = idText('req_', requestNumber);
    this.at = at;
    this.method = origin.method;
    this.route = route;
    this.idempotencyKey = origin.headers?.get('idempotency-key') ?? null;
    this.trace = trace;
    this.operation = rule?.operation ?? null;
    this.hasWork = rule?.counts === true;
    this.work = this.hasWork ? new WorkFacts() : NO_WORK;
    this.exchange = this.hasWork ? new ExchangeFacts() : NO_EXCHANGE;
    this.#onEnd = onEnd;
  }

  /** Aborted when the caller disconnects. The server creates the signal when it is first read. */
  get signal(): AbortSignal {
    return this.#origin.signal;
  }

  /** The headers of the HTTP request; null if it has none. */
  get headers(): Headers | null {
    return this.#origin.headers ?? null;
  }

  /** The address of the HTTP request; '' if it has none. */
  get url(): string {
    return this.#origin.url ?? '';
  }

  /** The caller; null until the key is read, or a payer has proved its identity. */
  get caller(): Caller | null {
    return this.client.caller;
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

  /** `dec_…` of the request's decision, or of the decision whose stored answer was sent again; null for none. */
  get decisionId(): string | null {
    return this.work.decisionId ?? this.answer.storedDecisionId;
  }

  /** Whether the request may have been charged, so that a client should not repeat it by itself. */
  get mayBeCharged(): boolean {
    const { result, dispatchedAt } = this.exchange;
    const isAnswered = result ? result.platform.credits_consumed !== 0 : !Number.isNaN(dispatchedAt);
    return isAnswered || this.work.guards?.mayBeCharged === true;
  }

  step(step: TraceStep): void {
    this.trace?.step(step);
  }

  /** Takes over the slot, rate limits and other resources of the request's admission. */
  admit(admission: Admission): void {
    if (this.life.admit(admission)) this.client.caller = admission.caller;
  }

  /**
   * Accepts a payer that has proved its identity, as `RequestLife.acceptPayer` does. Without a key, the payer becomes the caller.
   * @throws SignalboxError
   */
  acceptPayer(payer: Caller): Awaitable<void> {
    return whenReady(this.life.acceptPayer(payer), () => {
      this.client.caller ??= payer;
    });
  }

  /** Ends the work, so that a shutdown no longer waits for it. Later calls do nothing. @param tokens used tokens of input and output */
  endWork(tokens: number): void {
    this.leaveFlight();
    this.life.endWork(tokens);
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
    this.#running = null;
  }

  /** Notes the exchange of this request. If a shutdown has already cut off the request, abandons the exchange. */
  attach(running: RunningWork): void {
    this.#running = running;
    if (this.#cutOff) running.abandon(this.#cutOff);
  }

  /** Makes the record of the request's decision while the exchange runs; null before the exchange, and once the final record exists. */
  runningRecord(): DecisionRecord | null {
    return this.exchange.result === null ? (this.#running?.recorder.running() ?? null) : null;
  }

  /** Ends the work of this request with an error, now or as soon as it begins. */
  cutOff(error: SignalboxError): void {
    this.#cutOff = error;
    this.#running?.abandon(error);
  }

  /**
   * Notes the end of the handler; the last call before the end counts. A request that was not admitted ends with this call.
   * @param status the status of the answer
   * @param code the code of the error that was answered; null for none
   */
  handled(status: number, code: ErrorCode | null): void {
    const { answer } = this;
    if (code !== null && this.#isDeserted(code)) {
      // The caller has disconnected, so no client receives the error, and the error is not counted.
      answer.status = 0;
      answer.code = null;
    } else {
      answer.status = status;
      // For a stored answer, the code of its error was noted when the answer was found.
      if (code !== null || !answer.isReplayed) answer.code = code;
    }
    this.life.handled();
  }

  /** Notes the end of the handler with an error that is answered. */
  failed(error: SignalboxError): void {
    this.answer.error = error;
    this.handled(error.status, error.code);
  }

  /** For `RequestLife`. */
  ended(): void {
    this.#onEnd?.(this);
  }

  /** Whether an error occurred after the caller had disconnected. A defect still counts as an error, and so does a refusal at admission. */
  #isDeserted(code: ErrorCode): boolean {
    if (!this.life.isAdmitted || code === 'internal_error' || !this.signal.aborted) return false;
    const { result } = this.exchange;
    return result === null || result.outcome.status === 'abandoned';
  }
}

/** Makes the record of a decision whose request is in this list, by the ID of the decision or the request; null if there is none. */
export function findRunning(inFlight: LinkedSet<RequestContext>, id: number): DecisionRecord | null {
  const decisionId = idText('dec_', id);
  const request = inFlight.all().find((one) => one.decisionId === decisionId || one.requestNumber === id);
  return request?.runningRecord() ?? null;
}
