/** So many retries are always allowed after a success, and at once. */
const RETRIES_FLOOR = 3;
/** So many first attempts earn one retry more; and of so many attempts under way one may be a retry. */
const ATTEMPTS_PER_RETRY = 5;

/**
 * What keeps retries from burying a provider that is down. While it gives no success it sees at most
 * 1.2 × the first attempts + 3; and of the attempts that run at once at most a fifth, or 3, are retries.
 */
export class RetryBudget {
  /** Attempts that have not ended. */
  #running = 0;
  /** Of those, retries that have not answered: one that has is an answer like any other. */
  #retrying = 0;
  /** What is left, in first attempts: whole numbers, so that nothing is lost by rounding. */
  #saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;

  /** Begins an attempt. False: this retry must not be made. */
  begin(retry: boolean): boolean {
    if (retry) {
      if (this.#saved < ATTEMPTS_PER_RETRY || this.#isCrowded()) return false;
      this.#saved -= ATTEMPTS_PER_RETRY;
      this.#retrying++;
    } else this.#saved++;
    this.#running++;
    return true;
  }

  /** An attempt got its first content. What was saved up goes too: it was for an outage that is over. */
  succeeded(retry: boolean): void {
    this.#saved = RETRIES_FLOOR * ATTEMPTS_PER_RETRY;
    if (retry) this.#retrying--;
  }

  /** An attempt is over; `retrying`: a retry that never answered. */
  ended(retrying: boolean): void {
    this.#running--;
    if (retrying) this.#retrying--;
  }

  /** Whether one more retry would be too many of those that run. */
  #isCrowded(): boolean {
    const retrying = this.#retrying + 1;
    return retrying > RETRIES_FLOOR && retrying * ATTEMPTS_PER_RETRY > this.#running + 1;
  }
}
