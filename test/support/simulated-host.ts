import type { Timer, Timers } from '../../src/core/time/timers.ts';

interface PendingTimer {
  readonly run: () => void;
  readonly everyMs: number | null;
  at: number;
}

/** A process whose clocks and timers the test controls. While the process is stopped, its clock advances but no timer runs. */
export class SimulatedHost {
  readonly timers: Timers = {
    after: (ms, run) => this.#set(ms, null, run),
    every: (ms, run) => this.#set(ms, ms, run),
  };
  /** How far the system clock is ahead of the true time, ms. */
  skewMs: number;
  isStopped = false;
  readonly #pending = new Set<PendingTimer>();
  readonly #time: () => number;
  readonly #startedAt: number;

  /** @param time the true time, ms since 1970 */
  constructor(time: () => number, skewMs = 0) {
    this.#time = time;
    this.#startedAt = time();
    this.skewMs = skewMs;
  }

  readonly clock = (): number => this.#time() - this.#startedAt;
  readonly now = (): number => this.#time() + this.skewMs;

  /** Runs each timer that is due once: a process that was stopped does not catch up on missed ticks. */
  run(): void {
    if (this.isStopped) return;
    const now = this.clock();
    for (const timer of [...this.#pending]) {
      if (timer.at > now) continue;
      if (timer.everyMs === null) this.#pending.delete(timer);
      else timer.at = now + timer.everyMs;
      timer.run();
    }
  }

  #set(ms: number, everyMs: number | null, run: () => void): Timer {
    const timer = { run, everyMs, at: this.clock() + ms };
    this.#pending.add(timer);
    return { unref: () => {}, close: () => this.#pending.delete(timer) };
  }
}
