import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import { overloadedBy } from '../../store/unwritten.ts';
import type { LimitCounts } from './counts.ts';
import { type LimitShortage, limitError, limitHeaders, type RequestLimit } from './refusal.ts';

/** The limits that apply to one request, from its admission to its end. The accounts of these limits stay open until the request ends. */
export class Quota {
  readonly #limits: readonly RequestLimit[];
  readonly #counts: LimitCounts;
  /** The taken units are null before `begin` and after `end`. */
  #taken: { readonly tokens: number; readonly streams: number } | null = null;
  #isOpen = true;

  constructor(limits: readonly RequestLimit[], counts: LimitCounts) {
    this.#limits = limits;
    this.#counts = counts;
  }

  /**
   * Takes the expected tokens and the stream from all limits or from none.
   * @returns a promise if the store must be asked; it rejects with the same errors
   * @throws SignalboxError `rate_limit_exceeded`, or `overloaded` if the store failed
   */
  begin(stream: boolean, tokens: number): Awaitable<void> {
    if (this.#taken || !this.#isOpen) throw new Error('a quota can begin only once');
    const taken = { tokens, streams: stream ? 1 : 0 };
    const found = this.#counts.take(this.#limits, { requests: null, tokens, streams: stream ? 1 : null });
    return whenReady(orElse(found, uncounted), (short) => this.#begun(short, taken));
  }

  /** Replaces the expected tokens by the tokens that were used. Does nothing before `begin`. */
  end(tokens: number): void {
    const taken = this.#taken;
    if (!taken) return;
    this.#taken = null;
    this.#counts.add(this.#limits, { requests: null, tokens: tokens - taken.tokens, streams: -taken.streams });
  }

  /** Undoes the count of a request that was not carried out, and ends its accounts. */
  undo(): void {
    this.#counts.add(this.#limits, { requests: -1, tokens: null, streams: null });
    this.close();
  }

  /** Ends the accounts of the request. Further calls do nothing. */
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

  #begun(short: LimitShortage | null, taken: { readonly tokens: number; readonly streams: number }): void {
    if (short) throw limitError(short, this.#limits);
    this.#taken = taken;
    // The caller disconnected while the store was asked.
    if (!this.#isOpen) this.end(0);
  }
}

/** If a request cannot be counted, it is refused. */
export function uncounted(cause: unknown): never {
  throw overloadedBy(cause, 'The rate limits cannot be counted now. Try again.');
}
