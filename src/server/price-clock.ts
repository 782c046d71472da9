import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Timer, Timers } from '../core/time/timers.ts';

/** How often the clock is read while a change of prices is awaited, because a computer that slept may have missed the change, ms. */
export const PRICE_CHECK_MS = 30_000;
/** When a change of prices that failed is tried again, ms. */
const RETRY_MS = 1_000;

interface PriceClockOptions {
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Builds the active policy with the prices of now; null if it has them. */
  renew(): Promise<void> | null;
  /** Returns the active policy. */
  active(): Pick<PolicySnapshot, 'prices'>;
}

/** Builds the active policy again whenever its prices change. State: policy. */
export class PriceClock {
  readonly #options: PriceClockOptions;
  #next: Timer | null = null;

  constructor(options: PriceClockOptions) {
    this.#options = options;
  }

  /** Awaits the next change of the prices of a policy. */
  follow({ prices }: Pick<PolicySnapshot, 'prices'>): void {
    this.close();
    if (prices === null || prices.until === Number.POSITIVE_INFINITY) return;
    const { timers, now, renew, active } = this.#options;
    const left = Math.max(prices.until - now(), RETRY_MS);
    this.#next = timers.after(Math.min(left, PRICE_CHECK_MS), async () => {
      await renew();
      this.follow(active());
    });
  }

  close(): void {
    this.#next?.close();
    this.#next = null;
  }
}
