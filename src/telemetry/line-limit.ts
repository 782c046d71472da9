const MINUTE_MS = 60_000;

/** Lets some lines of one kind pass in a minute, so that a flood of them does not drown the others. */
export class LineLimit {
  readonly #max: number;
  #since = Number.NEGATIVE_INFINITY;
  #passed = 0;
  #suppressed = 0;

  /** `max`: lines a minute. */
  constructor(max: number) {
    this.#max = max;
  }

  /** How many were left out since the last one that passed; null when this one is left out, too. `now` in ms. */
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
