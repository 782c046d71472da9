import type { ProviderFailure } from '../../contract/parts.ts';
import type { Endpoint } from './endpoint.ts';
import type { Trial } from './types.ts';

/** One attempt under way, and what was known when it began. Takes the probes' places that are free. */
export class Attempted implements Trial {
  readonly isRetry: boolean;
  readonly isProbe: boolean;
  readonly breakerTurn: number;
  readonly keyTurn: number;
  readonly providerTurn: number;
  /** Moves on when this attempt closes the breaker. */
  breakerEpoch: number;
  readonly keyEpoch: number;
  readonly providerEpoch: number;
  readonly coolDownEpoch: number;
  hasAnswered = false;
  /** Of a stream: whether its prompt was in the cache is told only at its end. */
  #ttftMs: number | null = null;
  readonly #endpoint: Endpoint;
  #hasEnded = false;

  constructor(endpoint: Endpoint, isRetry: boolean, now: number) {
    const { breaker, key, provider, coolDown } = endpoint;
    this.#endpoint = endpoint;
    this.isRetry = isRetry;
    this.breakerTurn = breaker.lock.probe(now);
    this.keyTurn = key.probe(now);
    this.providerTurn = provider.key.probe(now);
    this.breakerEpoch = breaker.lock.epoch;
    this.keyEpoch = key.epoch;
    this.providerEpoch = provider.key.epoch;
    this.coolDownEpoch = coolDown.epoch;
    this.isProbe = this.breakerTurn !== 0 || this.keyTurn !== 0 || this.providerTurn !== 0;
    // Others are kept out until the probe has told.
    if (this.isProbe) endpoint.hub.version++;
  }

  answered(ttftMs: number | null): void {
    if (this.#hasEnded || this.hasAnswered) return;
    this.#works(this.#endpoint.hub.clock());
    this.#ttftMs = ttftMs;
  }

  completed(outputTokens: number, outputMs: number, totalMs: number | null, isWarm = false): void {
    if (this.#hasEnded) return;
    const endpoint = this.#endpoint;
    const now = endpoint.hub.clock();
    if (!this.hasAnswered) this.#works(now);
    this.#end(isWarm, now);
    endpoint.breaker.completed(this.breakerEpoch, now);
    endpoint.figures.sawOutput(outputTokens, outputMs, totalMs, now);
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

  /** What was not heard to its end counts as cold: nobody has said what was in the cache. */
  #end(isWarm: boolean, now: number): void {
    this.#hasEnded = true;
    if (this.#ttftMs !== null) this.#endpoint.figures.sawTtft(this.#ttftMs, isWarm, now);
  }

  #works(now: number): void {
    this.hasAnswered = true;
    this.#endpoint.works(this, now);
  }
}
