/** A clock that tests move, with the events that happen on it. */
export class SimulatedTime {
  /** The events that are left, the next one last. */
  readonly #events: { readonly at: number; readonly run: () => void }[] = [];
  /** ms; never decreases. */
  now = 1_000;
  readonly clock = (): number => this.now;

  /** Runs a function at a time, ms on the clock. Events of one time run in the order of their calls. */
  at(at: number, run: () => void): void {
    const events = this.#events;
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    events.splice(low, 0, { at, run });
  }

  /** Runs the events before a time, and the events that they add. Without a time, all events. */
  drain(until = Number.POSITIVE_INFINITY): void {
    while (this.#events.length > 0 && this.#events.at(-1)!.at < until) {
      const event = this.#events.pop()!;
      this.now = Math.max(this.now, event.at);
      event.run();
    }
    if (until < Number.POSITIVE_INFINITY) this.now = Math.max(this.now, until);
  }
}

/** Returns the seed of a decision, from random numbers from 0 up to, but not including, 1. */
export const seedFrom = (random: () => number): string =>
  [0, 1]
    .map(() =>
      Math.floor(random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
