/** A probe that has not come to a result after this time, in ms, no longer keeps others from trying. */
export const PROBE_MS = 30_000;

/**
 * Shuts something for a time; then lets one attempt at a time through, as a probe, until it is
 * unlocked. Times are ms on one clock that never goes back.
 */
export class Lockout {
  /** Counts what made earlier attempts stale: their end no longer speaks for or against. */
  epoch = 0;
  locked = false;
  /** When the next probe may begin; of a meaning only while locked. */
  until = 0;
  /** Which probe is under way, or was last: each lock, unlock and probe takes the next number. */
  #turn = 0;

  /** Whether an attempt that is no exception has to stay out now. */
  shut(now: number): boolean {
    return this.locked && now < this.until;
  }

  lock(now: number, ms: number): void {
    this.locked = true;
    this.until = now + ms;
    this.epoch++;
    this.#turn++;
  }

  unlock(): void {
    this.locked = false;
    this.#turn++;
  }

  /** As though it had never been locked; attempts from before say nothing more. */
  forget(): void {
    this.unlock();
    this.epoch++;
  }

  /** Takes the probe's place if it is free: the number to show later. 0: this attempt is no probe. */
  probe(now: number): number {
    if (!this.locked || now < this.until) return 0;
    this.until = now + PROBE_MS;
    return ++this.#turn;
  }

  /** Whether this number is that of the probe under way. */
  isProbe(turn: number): boolean {
    return turn !== 0 && turn === this.#turn && this.locked;
  }

  /** The probe ended without telling anything: its place is free at once. False if it was not the probe. */
  release(turn: number, now: number): boolean {
    if (!this.isProbe(turn)) return false;
    this.until = now;
    this.#turn++;
    return true;
  }
}
