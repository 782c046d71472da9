import type { Timer, Timers } from '../../src/core/time/timers.ts';

interface HandTimer extends Timer {
  readonly ms: number;
  readonly isRegular: boolean;
  readonly run: () => void;
}

/** Timers that fire only when a test calls `fire`. */
export class HandTimers implements Timers {
  readonly #set = new Set<HandTimer>();

  after(ms: number, run: () => void): Timer {
    return this.#add(ms, run, false);
  }

  every(ms: number, run: () => void): Timer {
    return this.#add(ms, run, true);
  }

  /** The intervals of repeated work, ms, shortest first. */
  get intervals(): number[] {
    const regular = [...this.#set].filter(({ isRegular }) => isRegular);
    return regular.map(({ ms }) => ms).sort((a, b) => a - b);
  }

  /** Fires each timer that is set now, once. */
  fire(): void {
    for (const timer of [...this.#set]) {
      if (!timer.isRegular) this.#set.delete(timer);
      timer.run();
    }
  }

  #add(ms: number, run: () => void, isRegular: boolean): Timer {
    const timer: HandTimer = {
      ...{ ms, run, isRegular },
      unref: () => timer,
      close: () => this.#set.delete(timer),
    };
    this.#set.add(timer);
    return timer;
  }
}
