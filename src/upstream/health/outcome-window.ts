/** Seconds in the window, including the current one. */
const WINDOW_SECONDS = 10;

/** Counts the ended attempts of the last seconds, and the faults among them. */
export class OutcomeWindow {
  total = 0;
  faults = 0;
  readonly #totals = new Uint32Array(WINDOW_SECONDS);
  readonly #faults = new Uint32Array(WINDOW_SECONDS);
  #second = 0;

  /** @param now monotonic ms */
  add(now: number, isFault: boolean): void {
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) this.#advance(second);
    const at = second % WINDOW_SECONDS;
    this.#totals[at]!++;
    this.total++;
    if (!isFault) return;
    this.#faults[at]!++;
    this.faults++;
  }

  clear(): void {
    this.#totals.fill(0);
    this.#faults.fill(0);
    this.total = 0;
    this.faults = 0;
  }

  #advance(second: number): void {
    if (second - this.#second >= WINDOW_SECONDS) this.clear();
    else {
      for (let passed = this.#second + 1; passed <= second; passed++) {
        const at = passed % WINDOW_SECONDS;
        this.total -= this.#totals[at]!;
        this.faults -= this.#faults[at]!;
        this.#totals[at] = 0;
        this.#faults[at] = 0;
      }
    }
    this.#second = second;
  }
}
