import { backoffMs } from './backoff.ts';

/** A provider that asks for more is asked again after an hour: one call is not what it fears. */
const COOL_DOWN_MAX_MS = 3_600_000;

/**
 * The pause after a 429: as long as the provider says, otherwise 1 s, doubled with each one in a row up
 * to 30 s. No fault, and nothing to go around: an attempt in between would be refused, and may lengthen it.
 */
export class CoolDown {
  /** When it is over, ms on the clock. */
  until = 0;
  /** Counts pauses: a 429 for what was sent before the last one is old news. */
  epoch = 0;
  #inARow = 0;

  /** An attempt got a 429. How long the pause is from now, in ms; null when it stays as it was. */
  limited(epoch: number, now: number, retryAfterMs: number | undefined): number | null {
    const isNews = epoch === this.epoch;
    const asked = retryAfterMs !== undefined && retryAfterMs > 0;
    // Without a word of its own, one burst of 429s is one reason to wait.
    if (!asked && !isNews) return null;
    const ms = asked ? Math.min(retryAfterMs, COOL_DOWN_MAX_MS) : backoffMs(this.#inARow);
    if (isNews) this.#inARow++;
    if (now + ms <= this.until) return null;
    this.until = now + ms;
    this.epoch++;
    return ms;
  }

  /** An attempt got content. */
  succeeded(epoch: number): void {
    if (epoch !== this.epoch || this.#inARow === 0) return;
    this.#inARow = 0;
    this.until = 0;
  }
}
