import type { Observation } from './observation.ts';

/** Refusals a minute that are told of, of whom nobody knows. */
const STRANGERS_MAX = 60;
const MINUTE_MS = 60_000;

/** Whoever has no key can send requests by the thousand: what is told of them must not drown what is told of others. */
export class Strangers {
  #since = Number.NEGATIVE_INFINITY;
  #told = 0;
  #suppressed = 0;

  /** How many were left out since the last one that was told of; null when this one is left out, too. `now` in ms. */
  next(now: number): number | null {
    if (now - this.#since >= MINUTE_MS) {
      this.#since = now;
      this.#told = 0;
    }
    if (this.#told >= STRANGERS_MAX) {
      this.#suppressed++;
      return null;
    }
    this.#told++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}

/** Nobody was known, and nobody was served; what goes wrong here is told of everybody. */
export const isStranger = ({ keyId, status }: Observation): boolean =>
  keyId === null && (status === 0 || (status >= 400 && status < 500));
