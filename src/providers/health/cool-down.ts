import { HOUR_MS } from '../../core/time/clock.ts';
import { backoffMs } from './backoff.ts';

/** If a provider requests a longer wait than an hour, Signalbox waits an hour, because one call per hour does no harm. */
const COOL_DOWN_MAX_MS = HOUR_MS;

/**
 * The pause after a 429: as long as the provider requests, otherwise 1 s, doubled with each consecutive 429 up to 30 s. A 429 is not a
 * fault. Signalbox never bypasses the pause after a 429, because an earlier attempt would be rejected and might lengthen the pause.
 */
export class CoolDown {
  /** The end of the pause, in ms of the clock. */
  until = 0;
  /** The number of pauses of this endpoint so far. A 429 for an attempt that began before the last pause is out of date. */
  epoch = 0;
  #consecutive = 0;

  /** Records a 429. Returns the new pause from now in ms; null if the pause does not change. */
  limited(epoch: number, now: number, retryAfterMs: number | undefined): number | null {
    const isCurrent = epoch === this.epoch;
    const isRequested = retryAfterMs !== undefined && retryAfterMs > 0;
    // If the provider requests no wait, a burst of 429s counts once.
    if (!isRequested && !isCurrent) return null;
    const ms = isRequested ? Math.min(retryAfterMs, COOL_DOWN_MAX_MS) : backoffMs(this.#consecutive);
    if (isCurrent) this.#consecutive++;
    if (now + ms <= this.until) return null;
    this.until = now + ms;
    this.epoch++;
    return ms;
  }

  /** Records that content arrived. */
  succeeded(epoch: number): void {
    if (epoch !== this.epoch || this.#consecutive === 0) return;
    this.#consecutive = 0;
    this.until = 0;
  }
}
