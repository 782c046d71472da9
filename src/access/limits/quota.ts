import { refill, take, waitMs } from './bucket.ts';
import { type LimitShortage, limitError, limitHeaders, type RequestLimit } from './refusal.ts';

/** The end of a stream cannot be predicted; ms. */
const STREAM_RETRY_MS = 1_000;

/** The limits of one request from its admission to its end. Until then their accounts are open. */
export class Quota {
  readonly #limits: readonly RequestLimit[];
  /** Whole milliseconds. */
  readonly #now: () => number;
  /** Null before `begin` and after `end`. */
  #taken: { readonly tokens: number; readonly stream: boolean } | null = null;
  #isOpen = true;

  constructor(limits: readonly RequestLimit[], now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Takes the expected tokens and stream from all limits or none. Throws SignalboxError `rate_limit_exceeded`. */
  begin(stream: boolean, tokens: number): void {
    if (this.#taken || !this.#isOpen) throw new Error('a quota is begun once');
    const short = this.#shortage(stream, tokens);
    if (short) throw limitError(short, this.#limits);
    this.#taken = { tokens, stream };
    this.#take(tokens, stream ? 1 : 0);
  }

  /** Replaces the expected tokens by those used. Does nothing before `begin`. */
  end(tokens: number): void {
    const taken = this.#taken;
    if (!taken) return;
    this.#taken = null;
    this.#refill();
    this.#take(tokens - taken.tokens, taken.stream ? -1 : 0);
  }

  /** Ends the request's accounts. Does nothing the second time. */
  close(): void {
    if (!this.#isOpen) return;
    this.end(this.#taken?.tokens ?? 0);
    this.#isOpen = false;
    for (const { account } of this.#limits) account.open--;
  }

  /** The `x-ratelimit-…` headers of the answer. */
  headers(): Record<string, string> {
    return limitHeaders(this.#limits);
  }

  #shortage(stream: boolean, tokens: number): LimitShortage | null {
    this.#refill();
    let worst: LimitShortage | null = null;
    for (const limit of this.#limits) {
      const { figures, account } = limit;
      const wait = figures.tokensPerMinute !== null && account.tokens ? waitMs(account.tokens, tokens) : 0;
      if (wait > (worst?.waitMs ?? 0)) worst = { limit, kind: 'tokens', waitMs: wait, units: tokens };
      const isFull = stream && figures.concurrentStreams !== null && account.streams >= figures.concurrentStreams;
      if (isFull && STREAM_RETRY_MS > (worst?.waitMs ?? 0)) {
        worst = { limit, kind: 'streams', waitMs: STREAM_RETRY_MS, units: 1 };
      }
    }
    return worst;
  }

  /** Counts streams under limits without a figure for them, too: a new policy may bring one. */
  #take(tokens: number, streams: number): void {
    for (const { account, figures } of this.#limits) {
      account.streams += streams;
      if (figures.tokensPerMinute !== null && account.tokens) take(account.tokens, tokens);
    }
  }

  /** Under the limits in force now, which may be newer than those of the admission. */
  #refill(): void {
    const now = this.#now();
    for (const { account } of this.#limits) {
      if (account.tokens) refill(account.tokens, account.tokens.perMinute, now);
    }
  }
}
