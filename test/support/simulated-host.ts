import type { Timer, Timers } from '../../src/core/timers.ts';

interface PendingTimer {
  readonly run: () => void;
  readonly everyMs: number | null;
  at: number;
}

/** A process whose clocks and timers are in the test's hands. While it is stopped, its clock goes on and nothing runs. */
export class SimulatedHost {
  readonly timers: Timers = {
    after: (ms, run) => this.#set(ms, null, run),
    every: (ms, run) => this.#set(ms, ms, run),
  };
  /** How far the system's clock is ahead of the true time, ms. */
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

  /** Runs what is due, once each: a process that was stopped does not make up for the ticks that it missed. */
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
