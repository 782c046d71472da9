import type { Timer, Timers } from '../../core/timers.ts';

/** The interval at which the row of a name is read while its run is on another server, ms. */
const POLL_MS = 1_000;

/** When a repeat stops waiting although the first request still runs. */
export interface WaitLimits {
  /** Aborted when its caller leaves. */
  readonly signal: AbortSignal;
  /** At most 0 for no wait. */
  readonly ms: number;
  /** Called after each wait, before the name is claimed again. Its error ends the claim. */
  readonly check?: () => void | Promise<void>;
}

export interface WaitOptions {
  readonly timers: Timers;
  /** Whether the run of a name goes on, here or on another server. @throws StoreError */
  isRunning(name: Uint8Array): Promise<boolean>;
}

/** The repeats of one name that wait. */
interface NameWait {
  readonly waiters: Set<Waiter>;
  readonly polling: Timer;
}

/** The repeats that wait for the runs of their names to end. State: names. */
export class RunWaits {
  readonly #options: WaitOptions;
  /** By the name in base64. */
  readonly #waits = new Map<string, NameWait>();
  #isClosed = false;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Adds a repeat to those that wait for a name. Leave it in any case. */
  enter(name: Uint8Array, { signal, ms }: WaitLimits): Waiter {
    const text = keyOf(name);
    const waiters = this.#waits.get(text)?.waiters ?? this.#open(name).waiters;
    const waiter = new Waiter(() => this.#leave(text, waiter));
    waiters.add(waiter);
    waiter.limit(this.#options.timers, signal, this.#isClosed ? 0 : ms);
    return waiter;
  }

  /** Wakes the repeat that has waited longest for a name: its run has ended. Each repeat that leaves wakes the next. */
  wake(name: string): void {
    const [first] = this.#waits.get(name)?.waiters ?? [];
    first?.wake();
  }

  /** Ends all waits, now and from here on. */
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
      // A read that fails wakes one, too: it claims the name itself, and answers with that error.
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

/** One repeat that waits. */
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

  /** Resolves with true once the name can be claimed again, and with false once the wait has reached its limit. */
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
