/** The longest delay that setTimeout accepts, in ms. */
const TIMEOUT_MAX = 2_147_483_647;

/**
 * One alarm for all the deadlines of a call, set again before each wait. Moving it later costs nothing: a timer that
 * fires too early checks the time and sleeps again.
 */
export class DeadlineAlarm {
  readonly #ring: () => void;
  #at = Number.POSITIVE_INFINITY;
  #due = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings at `at` (ms on performance.now's clock) instead of the time set before. */
  set(at: number): void {
    this.#at = at;
    if (this.#timer === null || at < this.#due) this.#sleep(performance.now());
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #sleep(now: number): void {
    this.clear();
    const ms = Math.min(Math.max(0, Math.ceil(this.#at - now)), TIMEOUT_MAX);
    this.#due = now + ms;
    this.#timer = setTimeout(() => this.#wake(), ms);
  }

  #wake(): void {
    this.#timer = null;
    const now = performance.now();
    if (now < this.#at) this.#sleep(now);
    else this.#ring();
  }
}
