/** Time in ms after which an undecided probe no longer blocks the next. */
export const PROBE_MS = 30_000;

/** An attempt, as a lockout knows it. */
export interface LockPass {
  /** Those of an earlier epoch are stale: their end no longer counts. */
  readonly epoch: number;
  /** The number of the probe that it is; 0 for an ordinary attempt. */
  readonly turn: number;
}

/** Blocks attempts for a time, then admits one at a time as a probe until it is unlocked. Times are monotonic ms. */
export class Lockout {
  /** That of ordinary attempts which begin now. */
  pass: LockPass = { epoch: 0, turn: 0 };
  locked = false;
  /** Attempts are blocked until then; the next one may probe. 0 while unlocked. */
  until = 0;
  /** The number of the current or last probe: each lock, unlock and probe takes the next. */
  #turn = 0;
  /** The least time between the starts of two probes, ms. */
  #spacingMs = 0;
  /** When the last probe began. */
  #probedAt = 0;

  /** @param spacingMs the least time between the starts of two probes; 0: a probe without a result makes room for the next at once */
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

  /** Unlocks, and makes earlier attempts stale. */
  forget(): void {
    this.unlock();
    this.#beginEpoch();
  }

  /** Lets an attempt in. Makes it the probe if none is running. */
  enter(now: number): LockPass {
    if (!this.locked || now < this.until) return this.pass;
    this.#probedAt = now;
    this.until = now + Math.max(PROBE_MS, this.#spacingMs);
    return { ...this.pass, turn: ++this.#turn };
  }

  isCurrent({ epoch }: LockPass): boolean {
    return epoch === this.pass.epoch;
  }

  /** Whether an attempt is the running probe. */
  isProbe({ turn }: LockPass): boolean {
    return turn !== 0 && turn === this.#turn && this.locked;
  }

  /** Ends a probe without a result, so that the next may begin. Does nothing for other attempts. */
  release(pass: LockPass, now: number): void {
    if (!this.isProbe(pass)) return;
    this.until = Math.max(now, this.#probedAt + this.#spacingMs);
    this.#turn++;
  }

  #beginEpoch(): void {
    this.pass = { epoch: this.pass.epoch + 1, turn: 0 };
  }
}
