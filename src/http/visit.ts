import type { Quota } from '../access/limits/quota.ts';
import type { Caller } from '../core/caller.ts';
import type { Ticket } from '../gateway/ticket.ts';
import type { BodyHold } from './body.ts';
import type { Place } from './gate.ts';

/** Looks at a wallet that has proved itself, and counts its request where a key has not. Throws SignalboxError. */
type Prove = (wallet: Caller) => Quota | null;

/**
 * One request that was let in, with what it holds: a place among those that are worked on, and its share of the
 * limits. Both are given back once its handler is done and the work that it began has ended, whichever is last.
 */
export class Visit implements Ticket {
  /** The pattern of the route that it was let in to. */
  readonly route: string;
  /** Called once, when it is over. */
  #ends: (() => void)[] = [];
  readonly #place: Place | null;
  readonly #prove: Prove;
  #caller: Caller | null;
  #quota: Quota | null;
  #isProved = false;
  #isHandled = false;
  #isWorking = false;

  constructor(
    route: string,
    caller: Caller | null,
    place: Place | null = null,
    quota: Quota | null = null,
    prove: Prove = () => null,
  ) {
    this.route = route;
    this.#caller = caller;
    this.#place = place;
    this.#quota = quota;
    this.#prove = prove;
  }

  /** Null for one that came without a key, until its wallet has proved itself. */
  get caller(): Caller | null {
    return this.#caller;
  }

  /** Of a route that lets in nobody without a key. */
  get known(): Caller {
    if (!this.#caller) throw new Error('a request without a key came to a handler that needs one');
    return this.#caller;
  }

  /**
   * Its wallet has proved itself, by a payment that is good. Where no key has said who it is, it counts from here on
   * against the limits on pace. Throws SignalboxError `insufficient_permissions` for a wallet that is shut out, and
   * `rate_limit_exceeded`. Harmless after the first time.
   */
  proved(wallet: Caller): void {
    if (this.#isProved) return;
    const quota = this.#prove(wallet);
    this.#quota ??= quota;
    this.#isProved = true;
    this.#caller ??= wallet;
  }

  /** The room of its body; null for a route that takes no place. */
  get hold(): BodyHold | null {
    return this.#place;
  }

  /** Null for one that may go on; else resolves when it may. Rejects with SignalboxError `overloaded`. */
  comeIn(request: Request): Promise<void> | null {
    const turn = this.#place?.turn;
    return turn ? this.#wait(turn, request.signal) : null;
  }

  async #wait(turn: Promise<void>, gone: AbortSignal): Promise<void> {
    // Who hangs up makes room for those behind.
    const leave = () => this.handled();
    gone.addEventListener('abort', leave);
    if (gone.aborted) leave();
    try {
      await turn;
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }

  begin(stream: boolean, tokens: number): void {
    this.#quota?.begin(stream, tokens);
    this.#isWorking = true;
  }

  end(tokens: number): void {
    if (!this.#isWorking) return;
    this.#isWorking = false;
    this.#quota?.end(tokens);
    this.#leave();
  }

  /** Its handler is done, well or not, or its caller is gone before it began. Harmless after the first time. */
  handled(): void {
    if (this.#isHandled) return;
    this.#isHandled = true;
    this.#leave();
  }

  /** Has `end` called once it is over. */
  whenOver(end: () => void): void {
    this.#ends.push(end);
  }

  /** Adds what is left of the limits to the headers of the answer. */
  tell(headers: Record<string, string | number>): void {
    if (this.#quota) Object.assign(headers, this.#quota.headers());
  }

  #leave(): void {
    if (!this.#isHandled || this.#isWorking) return;
    this.#quota?.close();
    this.#place?.leave();
    for (const end of this.#ends.splice(0)) end();
  }
}
