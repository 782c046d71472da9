import { refill, take, waitMs } from './bucket.ts';
import { type LimitShortage, limitError, limitHeaders, type RequestLimit } from './refusal.ts';

/** Nobody knows when a stream ends; ms. */
const STREAM_RETRY_MS = 1_000;

/** The limits of one request, from its admission to its end: until then their accounts are open. */
export class Quota {
  readonly #shares: readonly RequestLimit[];
  /** Whole milliseconds. */
  readonly #now: () => number;
  /** What was taken; null while nothing was, and after the end. */
  #taken: { readonly tokens: number; readonly stream: boolean } | null = null;
  #isOpen = true;

  constructor(shares: readonly RequestLimit[], now: () => number) {
    this.#shares = shares;
    this.#now = now;
  }

  /** Takes the tokens that are expected, and a stream if it is one, from all limits or from none. Throws SignalboxError. */
  begin(stream: boolean, tokens: number): void {
    if (this.#taken || !this.#isOpen) throw new Error('a quota is begun once');
    const short = this.#shortage(stream, tokens);
    if (short) throw limitError(short, this.#shares);
    this.#taken = { tokens, stream };
    this.#take(tokens, stream ? 1 : 0);
  }

  /** Ends the work: the tokens really used count instead of those expected. Harmless where none was begun. */
  end(tokens: number): void {
    const taken = this.#taken;
    if (!taken) return;
    this.#taken = null;
    this.#refill();
    this.#take(tokens - taken.tokens, taken.stream ? -1 : 0);
  }

  /** Ends all of it, once nobody works on the request any more. */
  close(): void {
    if (!this.#isOpen) return;
    this.end(this.#taken?.tokens ?? 0);
    this.#isOpen = false;
    for (const { account } of this.#shares) account.open--;
  }

  /** What is left, for the headers of the answer. */
  headers(): Record<string, string> {
    return limitHeaders(this.#shares);
  }

  #shortage(stream: boolean, tokens: number): LimitShortage | null {
    this.#refill();
    let worst: LimitShortage | null = null;
    for (const share of this.#shares) {
      const { figures, account } = share;
      const wait = figures.tokensPerMinute !== null && account.tokens ? waitMs(account.tokens, tokens) : 0;
      if (wait > (worst?.waitMs ?? 0)) worst = { share, kind: 'tokens', waitMs: wait, units: tokens };
      const isFull = stream && figures.concurrentStreams !== null && account.streams >= figures.concurrentStreams;
      if (isFull && STREAM_RETRY_MS > (worst?.waitMs ?? 0)) {
        worst = { share, kind: 'streams', waitMs: STREAM_RETRY_MS, units: 1 };
      }
    }
    return worst;
  }

  /** Streams are counted under limits that have no figure for them, too: a new policy may bring one. */
  #take(tokens: number, streams: number): void {
    for (const { account, figures } of this.#shares) {
      account.streams += streams;
      if (figures.tokensPerMinute !== null && account.tokens) take(account.tokens, tokens);
    }
  }

  /** By the limits in force now, which may be newer than those of its admission. */
  #refill(): void {
    const now = this.#now();
    for (const { account } of this.#shares) {
      if (account.tokens) refill(account.tokens, account.tokens.perMinute, now);
    }
  }
}
