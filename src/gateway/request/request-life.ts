import type { GatePlace } from '../../access/limits/gate.ts';
import type { Quota } from '../../access/limits/quota.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { Caller } from '../../core/people/caller.ts';

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

/** The parts that learn that a request has ended. */
export interface RequestEnd {
  /** Called once. */
  ended(): void;
}

/**
 * The slot at the gate and the rate limits that a request holds from its admission to its end. They end together, exactly once: when the
 * request was handled, and, if its work has begun, when that has ended, too.
 */
export class RequestLife {
  /**
   * The slot at the gate. On routes that do not count against the gate, it is only memory for the body. Null if no body is read, and before
   * admission.
   */
  place: GatePlace | null = null;
  readonly #request: RequestEnd;
  #admission: Admission | null = null;
  #quota: Quota | null = null;
  #isPayerAccepted = false;
  #isHandled = false;
  #isWorking = false;
  #isOver = false;
  #whenOver: (() => void) | null = null;

  constructor(request: RequestEnd) {
    this.#request = request;
  }

  get isAdmitted(): boolean {
    return this.#admission !== null;
  }

  /**
   * Takes over the slot and the rate limits of an admission.
   * @returns whether the request still needs them; false if it was already refused while the server looked up its caller
   */
  admit(admission: Admission): boolean {
    if (this.#isOver) {
      admission.quota?.undo();
      admission.place?.leave();
      return false;
    }
    this.#admission = admission;
    this.place = admission.place;
    this.#quota = admission.quota;
    return true;
  }

  /**
   * Accepts a payer that has proved its identity. A payer without a key counts against the rate limits from here on. Later calls do nothing.
   * @returns a promise if the store is queried; it rejects with the same errors
   * @throws SignalboxError `insufficient_permissions` for a blocked payer, or `rate_limit_exceeded`
   */
  acceptPayer(payer: Caller): Awaitable<void> {
    if (this.#isPayerAccepted) return;
    return whenReady(this.#admission?.acceptPayer(payer) ?? null, (quota) => {
      this.#quota ??= quota;
      this.#isPayerAccepted = true;
    });
  }

  /**
   * Waits for the request's turn at the gate. A caller who disconnects while waiting releases the slot at once.
   * @returns null if the request may go on at once; else a promise that rejects with SignalboxError `overloaded` if the request may not go
   * on
   */
  awaitTurn(origin: Pick<Request, 'signal'>): Promise<void> | null {
    const turn = this.place?.turn;
    return turn ? this.#wait(turn, origin.signal) : null;
  }

  async #wait(turn: Promise<void>, signal: AbortSignal): Promise<void> {
    const leave = () => this.handled();
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
    const beginning = this.#quota?.begin(stream, tokens);
    if (beginning instanceof Promise) return this.#beginAfter(beginning);
    this.#isWorking = true;
  }

  async #beginAfter(beginning: Promise<void>): Promise<void> {
    await beginning;
    this.#isWorking = true;
  }

  /** Ends the work. Later calls do nothing. @param tokens used tokens of input and output */
  endWork(tokens: number): void {
    if (!this.#isWorking) return;
    this.#isWorking = false;
    this.#quota?.end(tokens);
    this.#endIfDone();
  }

  /** Notes the end of the handler. Later calls do nothing. */
  handled(): void {
    if (this.#isHandled) return;
    this.#isHandled = true;
    this.#endIfDone();
  }

  /** Calls `end` once the request has ended. Only the last listener is called. */
  whenOver(end: () => void): void {
    this.#whenOver = end;
  }

  /** Adds the `x-ratelimit-…` headers to the headers of the answer. */
  addLimitHeaders(headers: Record<string, string | number>): void {
    if (this.#quota) Object.assign(headers, this.#quota.headers());
  }

  /** Every request ends in this method. */
  #endIfDone(): void {
    if (!this.#isHandled || this.#isWorking || this.#isOver) return;
    this.#isOver = true;
    this.#quota?.close();
    this.place?.leave();
    this.#whenOver?.();
    this.#request.ended();
  }
}
