import type { GatePlace } from '../../access/limits/gate.ts';
import type { Quota } from '../../access/limits/quota.ts';
import type { Caller } from '../../core/caller.ts';
import type { DecisionOutcome, DecisionRecord } from '../../core/decision-record.ts';
import type { ErrorCode, SignalboxError } from '../../core/errors.ts';
import type { Facts } from '../../core/facts.ts';
import { idText } from '../../core/id.ts';
import type { LinkedSet, Links } from '../../core/linked-set.ts';
import type { Operation } from '../../core/operation.ts';
import { NO_RUN, type RunNames } from '../../core/run-names.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';
import type { Trace, TraceStep } from '../../host/telemetry/trace.ts';
import type { Platform } from '../money/receipt.ts';

/** The last decision that was tried for a request, whether it found a model or none. */
export interface RoutingAttempt {
  /** With the rules that applied. */
  readonly facts: Facts;
  readonly snapshot: PolicySnapshot;
  /** Number of models by kind of rejection, in the order of `REJECTIONS`. */
  readonly rejections: ArrayLike<number>;
}

/** The end of an exchange, for the log, metrics and traces. */
export interface ExchangeResult {
  readonly outcome: DecisionOutcome;
  readonly platform: Platform;
}

/** The end of a count of a prompt by a service. */
export interface PromptCountEnd {
  readonly provider: string;
  /** `refused`: the service does not count such a prompt. `failed`: it may count it later. */
  readonly end: 'counted' | 'refused' | 'failed';
}

/** The caller, place and rate limits of an admitted request. */
export interface Admission {
  /** Null for a caller without a key, until a payer has proved itself. */
  readonly caller: Caller | null;
  /** Null on routes that do not count. */
  readonly place: GatePlace | null;
  /** Null on routes that do not count, and without a key. */
  readonly quota: Quota | null;
  /**
   * Checks a payer that has proved itself, and counts its request unless a key was counted.
   * @returns a promise where the store is asked, which rejects as this throws
   * @throws SignalboxError `insufficient_permissions` for a blocked payer, or `rate_limit_exceeded`
   */
  acceptPayer(payer: Caller): Quota | Promise<Quota> | null;
}

/** The exchange of a request. */
interface RunningWork {
  readonly recorder: { running(): DecisionRecord };
  abandon(error: SignalboxError): void;
}

/**
 * One request, from its first byte until it is answered and all that it began has ended. The edge makes it; every
 * step takes it along and notes its facts here, from which the log, metrics and the trace are written at the end.
 *
 * Its place in the gate, its rate limits and its trace end together, once: after `handled`, and after `endWork` where
 * `beginWork` was called.
 */
export class RequestContext implements Links<RequestContext> {
  /** `req_…` */
  readonly requestId: string;
  /** Time of arrival, ms on the gateway's clock. */
  readonly at: number;
  readonly method: string;
  /** Null while nothing is traced. */
  readonly trace: Trace | null;
  /** Pattern of the route, such as `/v1/decisions/:id`; `other` for a path that leads nowhere. */
  readonly route: string;
  /** The operation that its route asks of a model; null for other routes. */
  operation: Operation | null = null;
  /** Null until the key is read, or a payer has proved itself. */
  caller: Caller | null = null;
  /** Who sends it as the caller without its secret, by the playground: the ID of a user or of the key; null for the caller itself. */
  sentBy: string | null = null;
  /** The place in the gate: on routes that do not count, only room for the body. Null where no body is read, and before admission. */
  place: GatePlace | null = null;
  /** The names of its run as books and records have them. */
  run: RunNames = NO_RUN;
  /** Bytes of the body, by its `content-length`; 0 for none. */
  bodyBytes = 0;
  /** Bytes of the largest body that its route accepts from its caller; 0 before admission. */
  bodyBytesMax = 0;
  /** Its `Idempotency-Key`; null for none. */
  idempotencyKey: string | null = null;
  /** SHA-256 of the body of a request with an `Idempotency-Key`; null for others. */
  bodyHash: Uint8Array | null = null;
  /** HTTP status; 0 without an answer. */
  status = 0;
  /** Of the error answered; null for none. The error of a broken stream is in the result. */
  code: ErrorCode | null = null;
  /** Null before the first decision was tried. */
  routing: RoutingAttempt | null = null;
  /** `dec_…` once the decision is kept. A request refused for want of money leaves none. */
  decisionId: string | null = null;
  /** Null until the exchange has ended. */
  result: ExchangeResult | null = null;
  /** Charged usage of failed attempts, as their providers reported it; null for none. */
  failedUsage: Usage[] | null = null;
  /** Counts of its prompt by services; null for none. */
  promptCounts: PromptCountEnd[] | null = null;
  /** Whether a choice of the answer ended at the cap on its output, or for want of money. */
  hasReachedCap = false;
  /** Whether a kept answer was given again. */
  isReplayed = false;
  isStream = false;
  /** Start of the decision, ms on the gateway's clock; NaN before. */
  startedAt = Number.NaN;
  /** Time of the first upstream call, ms on the gateway's clock; NaN for none. */
  dispatchedAt = Number.NaN;
  /** Time of its end, ms on the gateway's clock; NaN before. */
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
  /** The requests that a shutdown waits for, while this is one of them. */
  #inFlight: LinkedSet<RequestContext> | null = null;
  /** Null before the exchange exists and after it has ended. */
  #work: RunningWork | null = null;
  #cutOff: SignalboxError | null = null;

  /**
   * @param origin the HTTP request
   * @param at ms on the gateway's clock
   * @param onEnd called once, when the request is over
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
    this.requestId = idText('req_', id);
    this.at = at;
    this.method = origin.method;
    this.route = route;
    this.trace = trace;
    this.#onEnd = onEnd;
  }

  /** Aborted when the caller leaves. Made by the server when it is first read. */
  get signal(): AbortSignal {
    return this.#origin.signal;
  }

  /** The caller's `keyId`; null while unknown. */
  get keyId(): string | null {
    return this.caller?.keyId ?? null;
  }

  /** The caller on a route that needs a key. */
  get knownCaller(): Caller {
    if (!this.caller) throw new Error('a request without a key came to a handler that needs one');
    return this.caller;
  }

  /** Whether the caller left before there was an answer. */
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

  /** Takes over the place, rate limits and other holdings of the request's admission. */
  admit(admission: Admission): void {
    // It was refused while its caller was looked up.
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
   * Takes a payer that has proved itself. Without a key it becomes the caller, and counts against the rate limits from
   * here on. Later calls do nothing.
   * @returns null; a promise where the store is asked, which rejects as this throws
   * @throws SignalboxError `insufficient_permissions` for a blocked payer, or `rate_limit_exceeded`
   */
  acceptPayer(payer: Caller): Promise<void> | null {
    if (this.#isPayerAccepted) return null;
    const found = this.#admission?.acceptPayer(payer) ?? null;
    const accept = (quota: Quota | null): null => {
      this.#quota ??= quota;
      this.#isPayerAccepted = true;
      this.caller ??= payer;
      return null;
    };
    return found instanceof Promise ? found.then((quota) => void accept(quota)) : accept(found);
  }

  /**
   * Waits for the request's turn at the gate. A caller who leaves meanwhile makes room at once.
   * @returns null where it may go on at once; otherwise rejects with SignalboxError `overloaded` where it may not
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
   * @returns null; a promise where the store is asked for limits, which rejects as this throws
   * @throws SignalboxError `rate_limit_exceeded`
   */
  beginWork(stream: boolean, tokens: number): Promise<void> | null {
    const begun = this.#quota?.begin(stream, tokens);
    const begin = (): null => {
      this.#isWorking = true;
      return null;
    };
    return begun ? begun.then(() => void begin()) : begin();
  }

  /**
   * Ends the work, and with it the wait of a shutdown. Later calls do nothing.
   * @param tokens used tokens of input and output
   */
  endWork(tokens: number): void {
    this.leaveFlight();
    if (!this.#isWorking) return;
    this.#isWorking = false;
    this.#quota?.end(tokens);
    this.#endIfDone();
  }

  /** Joins the requests that a shutdown waits for. */
  enterFlight(inFlight: LinkedSet<RequestContext>): void {
    this.#inFlight = inFlight;
    inFlight.add(this);
  }

  /** Leaves the requests that a shutdown waits for. Harmless outside of them. */
  leaveFlight(): void {
    this.#inFlight?.remove(this);
    this.#inFlight = null;
    this.#work = null;
  }

  /** Notes the exchange of this request. Where a shutdown has cut the request off, abandons it. */
  attach(work: RunningWork): void {
    this.#work = work;
    if (this.#cutOff) work.abandon(this.#cutOff);
  }

  /** Makes the record of its decision while the exchange runs; null before the exchange, and once the final record is made. */
  runningRecord(): DecisionRecord | null {
    return this.result === null ? (this.#work?.recorder.running() ?? null) : null;
  }

  /** Ends the work of this request with an error, now or as soon as it begins. */
  cutOff(error: SignalboxError): void {
    this.#cutOff = error;
    this.#work?.abandon(error);
  }

  /**
   * Notes the end of the handler; the last call before the end counts. A request that was not admitted is over now.
   * @param status of the answer
   * @param code of the error answered; null for none
   */
  handled(status: number, code: ErrorCode | null): void {
    // An error after the caller has left has no reader, and is not counted.
    const isDeserted = code !== null && this.#isDeserted(code);
    this.status = isDeserted ? 0 : status;
    // The code of a kept error was noted when it was found.
    if (isDeserted) this.code = null;
    else if (code !== null || !this.isReplayed) this.code = code;
    this.#close();
  }

  /** Calls `end` once the request is over. The last call counts. */
  whenOver(end: () => void): void {
    this.#whenOver = end;
  }

  /** Adds the `x-ratelimit-…` headers to those of the answer. */
  addLimitHeaders(headers: Record<string, string | number>): void {
    if (this.#quota) Object.assign(headers, this.#quota.headers());
  }

  /** Whether an error came up after the caller had left. A defect stays one, and so does a refusal at admission. */
  #isDeserted(code: ErrorCode): boolean {
    if (!this.isAdmitted || code === 'internal_error' || !this.signal.aborted) return false;
    return this.result === null || this.result.outcome.status === 'abandoned';
  }

  #close(): void {
    if (this.#isHandled) return;
    this.#isHandled = true;
    this.#endIfDone();
  }

  /** The one end. */
  #endIfDone(): void {
    if (!this.#isHandled || this.#isWorking || this.#isOver) return;
    this.#isOver = true;
    this.#quota?.close();
    this.place?.leave();
    this.#whenOver?.();
    this.#onEnd(this);
  }
}

/** Makes the record of a decision whose request is among these; null for none. */
export function findRunning(inFlight: LinkedSet<RequestContext>, id: number): DecisionRecord | null {
  const decisionId = idText('dec_', id);
  const request = inFlight.all().find((one) => one.decisionId === decisionId);
  return request?.runningRecord() ?? null;
}

/** The selector of a request, or `pinned` for a named model. */
export const selectorOf = ({ facts }: RoutingAttempt): string => (facts.pinned ? 'pinned' : facts.model);
