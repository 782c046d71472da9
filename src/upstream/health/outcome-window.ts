/** Seconds in the window, including the current one. */
const WINDOW_SECONDS = 10;

const emptySeconds = () => Array.from({ length: WINDOW_SECONDS }, () => ({ second: 0, total: 0, faults: 0 }));

/** Counts the ended attempts of the last seconds, and the faults among them. */
export class OutcomeWindow {
  /** Each takes the place of the one that has left the window. */
  #seconds = emptySeconds();

  /** @param now monotonic ms */
  add(now: number, isFault: boolean): void {
    const second = Math.floor(now / 1_000);
    const place = second % WINDOW_SECONDS;
    if (this.#seconds[place]!.second !== second) this.#seconds[place] = { second, total: 0, faults: 0 };
    this.#seconds[place]!.total++;
    if (isFault) this.#seconds[place]!.faults++;
  }

  /** Returns the sums over the window that ends now. */
  sums(now: number): { readonly total: number; readonly faults: number } {
    const first = Math.floor(now / 1_000) - WINDOW_SECONDS + 1;
    const inside = this.#seconds.filter(({ second }) => second >= first);
    const sumOf = (figure: 'total' | 'faults') => inside.reduce((sum, one) => sum + one[figure], 0);
    return { total: sumOf('total'), faults: sumOf('faults') };
  }

  clear(): void {
    this.#seconds = emptySeconds();
  }
}
