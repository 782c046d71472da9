/** The clock and the timer of a `Pace`. Tests replace the clock and the timer. */
interface PaceTimers {
  now(): number;
  /** @returns a function that cancels the timer */
  after(ms: number, work: () => void): () => void;
}

const REAL: PaceTimers = {
  now: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** The minimum time between two starts, ms. A gap of 110 ms allows at most ten starts a second. */
export const GAP_MS = 110;

/**
 * Limits requests to ten a second while their input changes. The latest input is always sent, each start aborts the previous request, and
 * only the response to the latest start is used.
 */
export class Pace<Wish, Answer> {
  readonly #ask: (wish: Wish, signal: AbortSignal) => Promise<Answer>;
  readonly #take: (answer: Answer) => void;
  readonly #timers: PaceTimers;
  #wish: { readonly value: Wish } | null = null;
  #running: AbortController | null = null;
  #cancel: (() => void) | null = null;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(
    ask: (wish: Wish, signal: AbortSignal) => Promise<Answer>,
    take: (answer: Answer) => void,
    timers: PaceTimers = REAL,
  ) {
    this.#ask = ask;
    this.#take = take;
    this.#timers = timers;
  }

  want(wish: Wish): void {
    this.#wish = { value: wish };
    if (this.#cancel) return;
    const wait = Math.max(0, this.#startedAt + GAP_MS - this.#timers.now());
    this.#cancel = this.#timers.after(wait, () => void this.#start());
  }

  /** Aborts the running request and forgets the waiting input. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#wish = null;
    this.#running?.abort();
    this.#running = null;
  }

  async #start(): Promise<void> {
    this.#cancel = null;
    const wish = this.#wish;
    if (!wish) return;
    this.#wish = null;
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#startedAt = this.#timers.now();
    try {
      const answer = await this.#ask(wish.value, running.signal);
      if (!running.signal.aborted) this.#take(answer);
    } catch (cause) {
      if (!running.signal.aborted) throw cause;
    }
  }
}
