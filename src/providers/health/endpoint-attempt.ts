import type { ProviderFailure } from '../../contract/parts.ts';
import type { Breaker } from './breaker.ts';
import type { CoolDown } from './cool-down.ts';
import type { EndpointSpeed } from './endpoint-speed.ts';
import type { Lockout, LockPass } from './lockout.ts';
import type { AttemptOutcome, AttemptReporter } from './types.ts';

/** The part of an endpoint that an attempt reads and reports to. */
interface AttemptedEndpoint {
  readonly breaker: Breaker;
  readonly key: Lockout;
  readonly provider: { readonly key: Lockout };
  readonly coolDown: CoolDown;
  readonly speed: EndpointSpeed;
  readonly hub: { version: number; readonly clock: () => number };
  answered(attempt: EndpointAttempt, now: number): void;
  read(tokens: number, cached: number, now: number): void;
  failed(attempt: EndpointAttempt, failure: ProviderFailure, blame: boolean, now: number): void;
  ended(attempt: EndpointAttempt, outcome: AttemptOutcome, now: number): void;
}

/** A running attempt, with the epochs in which it began. An attempt becomes the probe of each lockout that waits for a probe. */
export class EndpointAttempt implements AttemptReporter {
  readonly isRetry: boolean;
  readonly isProbe: boolean;
  /** A new pass replaces this pass once this attempt has closed the breaker. */
  breaker: LockPass;
  readonly key: LockPass;
  readonly provider: LockPass;
  readonly coolDownEpoch: number;
  hasAnswered = false;
  /**
   * The time to the first content of a stream. The attempt keeps the time to the first content until the end of the stream shows whether
   * the prompt was cached.
   */
  #ttftMs: number | null = null;
  readonly #endpoint: AttemptedEndpoint;
  #hasEnded = false;

  constructor(endpoint: AttemptedEndpoint, isRetry: boolean, now: number) {
    const { breaker, key, provider, coolDown } = endpoint;
    this.#endpoint = endpoint;
    this.isRetry = isRetry;
    this.breaker = breaker.lock.enter(now);
    this.key = key.enter(now);
    this.provider = provider.key.enter(now);
    this.coolDownEpoch = coolDown.epoch;
    this.isProbe = this.breaker.turn !== 0 || this.key.turn !== 0 || this.provider.turn !== 0;
    // Other attempts are blocked until the probe has a result, so the readings change.
    if (this.isProbe) endpoint.hub.version++;
  }

  answered(ttftMs: number | null): void {
    if (this.#hasEnded || this.hasAnswered) return;
    this.#recordAnswer(this.#endpoint.hub.clock());
    this.#ttftMs = ttftMs;
  }

  read(tokens: number, cached: number): void {
    if (!this.#hasEnded) this.#endpoint.read(tokens, cached, this.#endpoint.hub.clock());
  }

  completed(outputTokens: number, outputMs: number, totalMs: number | null, isWarm = false): void {
    if (this.#hasEnded) return;
    const endpoint = this.#endpoint;
    const now = endpoint.hub.clock();
    if (!this.hasAnswered) this.#recordAnswer(now);
    this.#end(isWarm, now);
    endpoint.breaker.completed(this.breaker, now);
    if (totalMs === null) endpoint.speed.observeOutput(outputTokens, outputMs, now);
    else if (this.#ttftMs === null) endpoint.speed.observeWhole(outputTokens, totalMs, isWarm, now);
    endpoint.ended(this, 'ok', now);
  }

  failed(failure: ProviderFailure, blame: boolean): void {
    if (this.#hasEnded) return;
    const now = this.#endpoint.hub.clock();
    this.#end(false, now);
    this.#endpoint.failed(this, failure, blame, now);
  }

  dropped(): void {
    if (this.#hasEnded) return;
    const now = this.#endpoint.hub.clock();
    this.#end(false, now);
    this.#endpoint.ended(this, 'dropped', now);
  }

  /** An incomplete answer counts as not cached, because it did not report cached tokens. */
  #end(isWarm: boolean, now: number): void {
    this.#hasEnded = true;
    if (this.#ttftMs !== null) this.#endpoint.speed.observeTtft(this.#ttftMs, isWarm, now);
  }

  #recordAnswer(now: number): void {
    this.hasAnswered = true;
    this.#endpoint.answered(this, now);
  }
}
