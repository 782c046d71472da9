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
    const now = this.#endpoint.hub.clock();
    this.#works(now);
    if (ttftMs !== null) this.#endpoint.figures.sawTtft(ttftMs, now);
  }

  completed(outputTokens: number, outputMs: number, totalMs: number | null): void {
    if (this.#hasEnded) return;
    const endpoint = this.#endpoint;
    const now = endpoint.hub.clock();
    if (!this.hasAnswered) this.#works(now);
    this.#hasEnded = true;
    endpoint.breaker.completed(this.breakerEpoch, now);
    endpoint.figures.sawOutput(outputTokens, outputMs, totalMs, now);
    endpoint.ended(this, 'ok', now);
  }

  failed(failure: ProviderFailure, blame: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#endpoint.failed(this, failure, blame, this.#endpoint.hub.clock());
  }

  dropped(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#endpoint.ended(this, 'dropped', this.#endpoint.hub.clock());
  }

  #works(now: number): void {
    this.hasAnswered = true;
    this.#endpoint.works(this, now);
  }
}
