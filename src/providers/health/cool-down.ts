import { HOUR_MS } from '../../core/clock.ts';
import { backoffMs } from './backoff.ts';

/** A longer wait is cut to an hour: one call then does no harm. */
const COOL_DOWN_MAX_MS = HOUR_MS;

/**
 * The pause after a 429: as long as the provider requests, otherwise 1 s, doubled with each consecutive one up to 30 s.
 * Not a fault. Never bypassed: an earlier attempt would be refused, and may lengthen the pause.
 */
export class CoolDown {
  /** End of the pause, ms on the clock. */
  until = 0;
  /** Counts pauses: a 429 for an attempt from before the last one is out of date. */
  epoch = 0;
  #consecutive = 0;

  /** Records a 429. Returns the new pause from now, in ms; null when the pause does not change. */
  limited(epoch: number, now: number, retryAfterMs: number | undefined): number | null {
    const isCurrent = epoch === this.epoch;
    const isRequested = retryAfterMs !== undefined && retryAfterMs > 0;
    // Without a requested wait, a burst of 429s counts once.
    if (!isRequested && !isCurrent) return null;
    const ms = isRequested ? Math.min(retryAfterMs, COOL_DOWN_MAX_MS) : backoffMs(this.#consecutive);
    if (isCurrent) this.#consecutive++;
    if (now + ms <= this.until) return null;
    this.until = now + ms;
    this.epoch++;
    return ms;
  }

  /** Records content. */
  succeeded(epoch: number): void {
    if (epoch !== this.epoch || this.#consecutive === 0) return;
    this.#consecutive = 0;
    this.until = 0;
  }
}
