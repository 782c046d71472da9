import type { Awaitable } from '../core/awaitable.ts';

/** The longest time of long work in one turn of the event loop, ms. A single step that takes longer is not interrupted. */
export const TURN_MS = 5;

interface Waiting {
  readonly size: number;
  readonly go: () => void;
}

/** Divides long work into parts. */
export interface WorkTurns {
  /** Ends a part of the work. @param size of the work, in any unit that all work shares, such as characters */
  next(size: number): Awaitable<void>;
  /**
   * Takes steps to their end. The result is a promise only if the steps take more than a turn.
   * @param clock ms, never goes back
   * @param check called between steps, to end the work with an error
   */
  run<Result>(steps: Iterator<void, Result>, size: number, clock: () => number, check?: () => void): Awaitable<Result>;
}

/** Does long work without a pause. */
export const AT_ONCE: WorkTurns = {
  next() {},
  run(steps, _size, _clock, check) {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      check?.();
    }
  },
};

/**
 * Divides long work into turns of the event loop, so that other requests are served in between. One piece of work continues in each turn: the
 * smallest, and of equally large ones the one that has waited longest. State: alarms.
 */
export class Turns implements WorkTurns {
  readonly #waiting: Waiting[] = [];

  next(size: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#waiting.push({ size, go: resolve }) === 1) setImmediate(this.#wake);
    return promise;
  }

  run<Result>(
    steps: Iterator<void, Result>,
    size: number,
    clock: () => number,
    check: () => void = () => {},
  ): Awaitable<Result> {
    const until = clock() + TURN_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
      check();
    } while (clock() < until);
    return this.next(size).then(() => {
      check();
      return this.run(steps, size, clock, check);
    });
  }

  readonly #wake = (): void => {
    const next = this.#waiting.reduce((least, one) => (one.size < least.size ? one : least));
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    next.go();
    if (this.#waiting.length > 0) setImmediate(this.#wake);
  };
}
