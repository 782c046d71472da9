const MINUTE_MS = 60_000;

/** Limits the lines of one kind per minute, so that a flood of them does not drown the others. */
export class LineLimit {
  readonly #max: number;
  #since = Number.NEGATIVE_INFINITY;
  #passed = 0;
  #suppressed = 0;

  /** @param max lines per minute */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * The number of lines suppressed since the last one that passed; null if this one is suppressed, too.
   * @param now ms
   */
  next(now: number): number | null {
    if (now - this.#since >= MINUTE_MS) {
      this.#since = now;
      this.#passed = 0;
    }
    if (this.#passed >= this.#max) {
      this.#suppressed++;
      return null;
    }
    this.#passed++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}
