import type { Timer, Timers } from '../../core/time/timers.ts';

/** How often the row of a name is read while its run is on another server, ms. */
const POLL_MS = 1_000;

/** When a repeat stops waiting although the first request is still running. */
export interface WaitLimits {
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** How long to wait, ms; 0 or less to not wait. */
  readonly ms: number;
  /** Called after each wait, before the name is claimed again. An error of this function ends the claim. */
  readonly check?: () => void | Promise<void>;
}

export interface WaitOptions {
  readonly timers: Timers;
  /** Whether the run of a name continues, on this or on another server. @throws StoreError */
  isRunning(name: Uint8Array): Promise<boolean>;
}

/** The waiting repeats of one name. */
interface NameWait {
  readonly waiters: Set<Waiter>;
  readonly polling: Timer;
}

/** The repeats that wait until the runs of their names have ended. State: names. */
export class RunWaits {
  readonly #options: WaitOptions;
  /** By the name in base64. */
  readonly #waits = new Map<string, NameWait>();
  #isClosed = false;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /**
   * Adds a repeated request to the requests that wait for a name. The code that calls `enter` must always dispose of the returned waiter.
   */
  enter(name: Uint8Array, { signal, ms }: WaitLimits): Waiter {
    const text = keyOf(name);
    const waiters = this.#waits.get(text)?.waiters ?? this.#open(name).waiters;
    const waiter = new Waiter(() => this.#leave(text, waiter));
    waiters.add(waiter);
    waiter.limit(this.#options.timers, signal, this.#isClosed ? 0 : ms);
    return waiter;
  }

  /**
   * Wakes the repeat that has waited longest for a name, because the run has ended. A repeat that stops waiting wakes the next waiting
   * repeat.
   */
  wake(name: string): void {
    const [first] = this.#waits.get(name)?.waiters ?? [];
    first?.wake();
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#isClosed = true;
    for (const { waiters } of this.#waits.values()) for (const waiter of waiters) waiter.end();
  }

  #open(name: Uint8Array): NameWait {
    const text = keyOf(name);
    let isReading = false;
    const poll = async () => {
      if (isReading) return;
      isReading = true;
      // If the read fails, wake a repeat, too. The repeated request then claims the name itself and reports the error.
      const isRunning = await this.#options.isRunning(name).catch(() => false);
      isReading = false;
      if (!isRunning) this.wake(text);
    };
    const wait = { waiters: new Set<Waiter>(), polling: this.#options.timers.every(POLL_MS, () => void poll()) };
    this.#waits.set(text, wait);
    return wait;
  }

  #leave(name: string, waiter: Waiter): void {
    const wait = this.#waits.get(name);
    if (!wait?.waiters.delete(waiter)) return;
    if (wait.waiters.size > 0) {
      this.wake(name);
      return;
    }
    wait.polling.close();
    this.#waits.delete(name);
  }
}

/** The key of a name in maps. */
export const keyOf = (name: Uint8Array): string => Buffer.from(name).toString('base64');

/** One waiting repeat. */
export class Waiter implements Disposable {
  readonly #onLeave: () => void;
  #turn = Promise.withResolvers<void>();
  #isOver = false;
  #timer: Timer | null = null;
  #signal: AbortSignal | null = null;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  /** Ends the wait after `ms`, or when the signal is aborted. */
  limit(timers: Timers, signal: AbortSignal, ms: number): void {
    if (ms <= 0 || signal.aborted) {
      this.end();
      return;
    }
    this.#timer = timers.after(ms, this.end);
    this.#signal = signal;
    signal.addEventListener('abort', this.end);
  }

  /** Resolves with true when the name can be claimed again, and with false when the wait has reached its limit. */
  async next(): Promise<boolean> {
    await this.#turn.promise;
    this.#turn = Promise.withResolvers();
    return !this.#isOver;
  }

  wake(): void {
    this.#turn.resolve();
  }

  readonly end = (): void => {
    this.#isOver = true;
    this.wake();
  };

  [Symbol.dispose](): void {
    this.#timer?.close();
    this.#signal?.removeEventListener('abort', this.end);
    this.#onLeave();
  }
}
