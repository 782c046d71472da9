/** The time in ms after which a probe without a result no longer blocks the next probe. */
export const PROBE_MS = 30_000;

/** The data by which a lockout recognizes an attempt. */
export interface LockPass {
  /** The epoch in which the attempt began. Results of attempts from an earlier epoch no longer count. */
  readonly epoch: number;
  /** The number of the probe; 0 for an ordinary attempt. */
  readonly turn: number;
}

/**
 * Blocks attempts for a time, then admits one attempt at a time as a probe until a success unlocks the lockout. Times are in monotonic ms.
 */
export class Lockout {
  /** The pass of ordinary attempts that begin now. */
  pass: LockPass = { epoch: 0, turn: 0 };
  locked = false;
  /** The time until which attempts are blocked; the next attempt after it may probe. 0 while unlocked. */
  until = 0;
  /** The number of the current or last probe. Each lock, unlock and probe increments `#turn`. */
  #turn = 0;
  /** The minimum time between the starts of two probes, in ms. */
  #spacingMs = 0;
  /** The time at which the last probe began. */
  #probedAt = 0;

  /**
   * @param spacingMs the minimum time between the starts of two probes. With 0, the next probe may begin as soon as a probe ends without a
   * result.
   */
  lock(now: number, ms: number, spacingMs = 0): void {
    this.locked = true;
    this.#spacingMs = spacingMs;
    this.until = now + ms;
    this.#beginEpoch();
    this.#turn++;
  }

  unlock(): void {
    this.locked = false;
    this.until = 0;
    this.#turn++;
  }

  /** Unlocks, and makes the results of earlier attempts count no longer. */
  forget(): void {
    this.unlock();
    this.#beginEpoch();
  }

  /** Admits an attempt. The attempt becomes the probe if no probe is running. */
  enter(now: number): LockPass {
    if (!this.locked || now < this.until) return this.pass;
    this.#probedAt = now;
    this.until = now + Math.max(PROBE_MS, this.#spacingMs);
    return { ...this.pass, turn: ++this.#turn };
  }

  isCurrent({ epoch }: LockPass): boolean {
    return epoch === this.pass.epoch;
  }

  /** Returns whether an attempt is the running probe. */
  isProbe({ turn }: LockPass): boolean {
    return turn !== 0 && turn === this.#turn && this.locked;
  }

  /** Ends a probe without a result, so that the next probe may begin. `release` does nothing for attempts that are not the probe. */
  release(pass: LockPass, now: number): void {
    if (!this.isProbe(pass)) return;
    this.until = Math.max(now, this.#probedAt + this.#spacingMs);
    this.#turn++;
  }

  #beginEpoch(): void {
    this.pass = { epoch: this.pass.epoch + 1, turn: 0 };
  }
}
