/** The clock of a simulated world. `now` is the store's time. */
export interface WorldClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` after `ms`. @returns a function that cancels the call */
  after(ms: number, run: () => void): () => void;
}

/** Resolves after `ms`; for 0, in the same microtask turn. */
export const sleep = (clock: WorldClock, ms: number): Promise<void> | undefined =>
  ms <= 0 ? undefined : new Promise((resolve) => void clock.after(ms, resolve));

/** The machine's clock, for worlds with real servers and sockets. */
export const realClock: WorldClock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * A clock on which a delay of n ms takes n turns of the event loop. This clock suits tests that wait for each call and do not depend on
 * time.
 */
export const turnsClock: WorldClock = {
  now: Date.now,
  after(ms, run) {
    let left = ms;
    let isOff = false;
    const turn = () => {
      if (isOff) return;
      if (left-- > 0) setImmediate(turn);
      else run();
    };
    setImmediate(turn);
    return () => {
      isOff = true;
    };
  },
};

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that advances only when a test calls `pass`. Alarms ring in the order of their times; equal times ring in the order of creation.
 */
export class VirtualClock implements WorldClock {
  #now: number;
  #order = 0;
  /** A heap whose first element is the next alarm. */
  readonly #alarms: Alarm[] = [];
  readonly #off = new Set<Alarm>();

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const alarm: Alarm = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#push(alarm);
    return () => void this.#off.add(alarm);
  }

  /** Advances the time. Resolves once everything that was due has happened, including the promises that it settled. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settled();
    for (;;) {
      const next = this.#alarms[0];
      if (!next || next.at > until) break;
      this.#pop();
      if (this.#off.delete(next)) continue;
      this.#now = next.at;
      next.run();
      await settled();
    }
    this.#now = until;
  }

  #push(alarm: Alarm): void {
    const heap = this.#alarms;
    let at = heap.push(alarm) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, alarm)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = alarm;
  }

  #pop(): void {
    const heap = this.#alarms;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const isBefore = (one: Alarm, other: Alarm): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** Resolves when no promise has work left, because nothing in a virtual world waits for the real machine. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
