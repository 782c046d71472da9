import { messageOf } from '../../core/thrown.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { registerToken, scrub } from '../telemetry/secrets.ts';
import { SourceError, type Token } from './source.ts';

/** A token that is valid for a shorter time is refused, ms: the clock of this machine or of the service is probably wrong. */
const LIFE_MIN_MS = 10_000;
/** A token is renewed when a fifth of its life is left, but at least this long before its end, ms. */
const LEAD_MIN_MS = 5 * MINUTE_MS;
/** How long after a fetch a token without a known end is fetched again, ms. */
const ENDLESS_MS = 5 * MINUTE_MS;
/** A token of this age is fetched again when a provider refuses it, ms. */
const REFUSED_AGE_MS = 5 * MINUTE_MS;
/** The longest time between two fetches, ms. */
const FETCH_EVERY_MAX_MS = DAY_MS;
/** The pauses after the first failure and after many, ms. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = MINUTE_MS;

/** The most earlier tokens of a source that stay registered as secrets. */
const KNOWN_MAX = 4;

/** How long before a renewal, as a share of its wait, it may begin, so that servers that started together do not renew together. */
const JITTER = 0.1;

export interface KeeperOptions {
  /** Fetches a token. The keeper runs one fetch at a time. */
  readonly fetch: () => Promise<Token>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** The token that serves until the first fetch; null for none. */
  readonly first: Token | null;
  /** Called when a fetch fails after a success, and again when the last token ends. @param until the end of the last token; null for none */
  readonly onFailure: (problem: string, until: number | null) => void;
  /** Called when a fetch succeeds: the first one, one after a failure, and one after a refusal of the provider. */
  readonly onSuccess: () => void;
}

/** Keeps a valid token of one source: fetches it, and renews it before its end. */
export class TokenKeeper {
  readonly #options: KeeperOptions;
  #current: Token | null;
  #fetchedAt: number | null = null;
  #problem: string | null = null;
  #failures = 0;
  /** Whether the end of the last token was reported during the present failure. */
  #isEndReported = false;
  #isFetching = false;
  /** Whether a provider refused the token, which may have been revoked. */
  #isRefused = false;
  #isClosed = false;
  #timer: Timer | null = null;
  readonly #first = Promise.withResolvers<void>();
  /** The tokens that a text may still contain, with the functions that remove them from the registered secrets. */
  #registered: readonly { readonly token: Token; readonly forget: () => void }[] = [];

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#current = options.first;
  }

  /** The token with its end; null while there is no valid one. */
  get current(): Token | null {
    const token = this.#current;
    return token !== null && this.#isValid(token) ? token : null;
  }

  /** Resolves when the first fetch has succeeded or failed. */
  get tried(): Promise<void> {
    return this.#first.promise;
  }

  /** When the token was fetched, ms since 1970; null if it never was. */
  get fetchedAt(): number | null {
    return this.#fetchedAt;
  }

  /** Why the last fetch failed; null if it did not. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Fetches a token, unless a fetch is in progress, and plans the next fetch. Never rejects. */
  async renew(): Promise<void> {
    if (this.#isFetching || this.#isClosed) return;
    this.#isFetching = true;
    this.#timer?.close();
    try {
      this.#take(await this.#options.fetch());
    } catch (cause) {
      this.#fail(scrub(messageOf(cause)));
    }
    this.#isFetching = false;
    this.#first.resolve();
    if (!this.#isClosed) this.#timer = this.#options.timers.after(this.#wait(), () => void this.renew());
  }

  /** Renews a token early that a provider has refused, unless it is new. */
  refused(): void {
    if (this.#failures > 0 || this.#fetchedAt === null || this.#options.now() - this.#fetchedAt < REFUSED_AGE_MS)
      return;
    this.#isRefused = true;
    void this.renew();
  }

  /** Ends the renewals. The token serves until its end. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.close();
  }

  #isValid({ expiresAt }: Token): boolean {
    return expiresAt === null || this.#options.now() < expiresAt;
  }

  /** @throws SourceError for a token that cannot be used */
  #take(token: Token): void {
    const { now, onSuccess } = this.#options;
    const { value, expiresAt } = token;
    if (expiresAt !== null && expiresAt - now() < LIFE_MIN_MS) {
      const when = expiresAt <= now() ? 'has already ended' : `ends within ${LIFE_MIN_MS / 1_000} seconds`;
      throw new SourceError(`the token ${when}: compare the clock of this machine with the clock of the service`);
    }
    // Header values have visible characters of ASCII only.
    if (!/^[\x21-\x7e]+$/.test(value)) throw new SourceError('the token has characters that a header cannot contain');
    this.#register(token);
    const isNews = this.#problem !== null || this.#fetchedAt === null || this.#isRefused;
    this.#current = token;
    this.#fetchedAt = now();
    this.#problem = null;
    this.#failures = 0;
    this.#isEndReported = false;
    this.#isRefused = false;
    if (isNews) onSuccess();
  }

  #fail(problem: string): void {
    const isFirst = this.#failures === 0;
    this.#failures++;
    this.#problem = problem;
    const valid = this.current;
    if (!isFirst && (valid !== null || this.#isEndReported)) return;
    this.#isEndReported = valid === null;
    this.#options.onFailure(problem, valid?.expiresAt ?? null);
  }

  /** Returns the time until the next fetch, ms. */
  #wait(): number {
    const { now, random } = this.#options;
    if (this.#failures > 0) {
      const pause = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures - 1, 20));
      return pause * (1 - random() / 2);
    }
    const end = this.#current?.expiresAt ?? null;
    const wait = end === null ? ENDLESS_MS : waitFor(end - now());
    return Math.min(wait, FETCH_EVERY_MAX_MS) * (1 - JITTER * random());
  }

  /** Registers the token as a secret, and forgets earlier tokens that have ended. */
  #register(token: Token): void {
    const kept = this.#registered.filter((one) => this.#isValid(one.token)).slice(-KNOWN_MAX);
    for (const one of this.#registered) if (!kept.includes(one)) one.forget();
    this.#registered = [...kept, { token, forget: registerToken(token.value) }];
  }
}

/** Returns the time from a fetch to the next, for a token that is valid for this long, ms. */
const waitFor = (life: number): number => life - Math.min(Math.max(life * 0.2, LEAD_MIN_MS), life / 2);
