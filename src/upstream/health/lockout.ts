/** Time in ms after which an undecided probe no longer blocks the next. */
export const PROBE_MS = 30_000;

/** Blocks attempts for a time, then admits one at a time as a probe until it is unlocked. Times are monotonic ms. */
export class Lockout {
  /** Incremented when earlier attempts become stale: their end no longer counts. */
  epoch = 0;
  locked = false;
  /** Attempts are blocked until then; the next one may probe. 0 while unlocked. */
  until = 0;
  /** The number of the current or last probe: each lock, unlock and probe takes the next. */
  #turn = 0;

  lock(now: number, ms: number): void {
    this.locked = true;
    this.until = now + ms;
    this.epoch++;
    this.#turn++;
  }

  unlock(): void {
    this.locked = false;
    this.until = 0;
    this.#turn++;
  }

  /** Unlocks, and makes earlier attempts stale. */
  forget(): void {
    this.unlock();
    this.epoch++;
  }

  /** Makes the attempt the probe if none is running. Returns the probe's number; 0 for an ordinary attempt. */
  probe(now: number): number {
    if (!this.locked || now < this.until) return 0;
    this.until = now + PROBE_MS;
    return ++this.#turn;
  }

  /** Whether this is the number of the running probe. */
  isProbe(turn: number): boolean {
    return turn !== 0 && turn === this.#turn && this.locked;
  }

  /** Ends a probe without a result, so that the next may begin. Returns false if it was not the probe. */
  release(turn: number, now: number): boolean {
    if (!this.isProbe(turn)) return false;
    this.until = now;
    this.#turn++;
    return true;
  }
}
