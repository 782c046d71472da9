/** Retries that are always allowed after a success, also at once. */
const RETRIES_FLOOR = 3;
/** First attempts that earn one retry; also, running attempts per running retry. */
const ATTEMPTS_PER_RETRY = 5;

/**
 * Keeps retries from overloading a provider that is down. Without a success it gets at most 1.2 × the first attempts
 * + 3; and of the running attempts at most a fifth, or 3, are retries.
 */
export class RetryBudget {
  /** Attempts that have not ended. */
  #running = 0;
  /** Running retries that have not answered. */
  #retrying = 0;
  /** The remaining budget, in first attempts: whole numbers avoid rounding. */
  #saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;

  /** Begins an attempt. Returns false where this retry is not allowed. */
  begin(retry: boolean): boolean {
    if (retry) {
      if (this.#saved < ATTEMPTS_PER_RETRY || this.#isCrowded()) return false;
      this.#saved -= ATTEMPTS_PER_RETRY;
      this.#retrying++;
    } else this.#saved++;
    this.#running++;
    return true;
  }

  /** Records first content, which also resets savings beyond the floor: they were for an outage that is over. */
  succeeded(retry: boolean): void {
    this.#saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;
    if (retry) this.#retrying--;
  }

  /** Records the end of an attempt. @param retrying it was a retry that never answered */
  ended(retrying: boolean): void {
    this.#running--;
    if (retrying) this.#retrying--;
  }

  /** Whether one more retry would be too many at once. */
  #isCrowded(): boolean {
    const retrying = this.#retrying + 1;
    return retrying > RETRIES_FLOOR && retrying * ATTEMPTS_PER_RETRY > this.#running + 1;
  }
}
