/** The number of retries that are always allowed after a success, even all at once. */
const RETRIES_FLOOR = 3;
/** The number of first attempts that earn one retry, and the number of running attempts per running retry. */
const ATTEMPTS_PER_RETRY = 5;

/**
 * Prevents retries from overloading a provider that is down. Until the next success, the provider receives at most 1.2 × the first attempts
 * + 3. At most a fifth of the running attempts, or 3 if that is more, are retries.
 */
export class RetryBudget {
  /** The number of attempts that have not ended. */
  #running = 0;
  /** The number of running retries that have not answered. */
  #retrying = 0;
  /** The remaining budget in first attempts. The budget counts first attempts in whole numbers, which avoids rounding. */
  #saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;

  /** Begins an attempt. Returns false if the budget does not allow this retry. */
  begin(retry: boolean): boolean {
    if (retry) {
      if (this.#saved < ATTEMPTS_PER_RETRY || this.#isCrowded()) return false;
      this.#saved -= ATTEMPTS_PER_RETRY;
      this.#retrying++;
    } else this.#saved++;
    this.#running++;
    return true;
  }

  /** Records the first content. A success also resets savings above the floor, because they were meant for an outage that is over. */
  succeeded(retry: boolean): void {
    this.#saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;
    if (retry) this.#retrying--;
  }

  /** Records the end of an attempt. @param retrying whether it was a retry that never answered */
  ended(retrying: boolean): void {
    this.#running--;
    if (retrying) this.#retrying--;
  }

  /** Returns whether one more retry would exceed the allowed share of running retries. */
  #isCrowded(): boolean {
    const retrying = this.#retrying + 1;
    return retrying > RETRIES_FLOOR && retrying * ATTEMPTS_PER_RETRY > this.#running + 1;
  }
}
