import { type FundBlock, type FundRef, type FundStanding, fundName } from '../core/accounting/fund.ts';
import { Spread } from '../core/time/spread.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Waits } from './sample.ts';

/** How many requests may wait for one fund. Further requests are refused at once. */
const WAITERS_MAX = 1_000;
/** The upper bounds of the histogram of waits for money, in seconds. */
export const WAIT_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/**
 * Tries to reserve money.
 * @param isLast true for the last attempt, when the time to wait is over
 * @returns null on success, otherwise the fund that lacks money now
 */
type MoneyAttempt = (isLast: boolean) => FundBlock | null;

/** The way in which a request waits for the money of a fund. */
interface MoneyWait {
  /** The longest time to wait, ms. */
  readonly waitMs: number;
  readonly attempt: MoneyAttempt;
  /** A signal that ends the wait for money. */
  readonly signal?: AbortSignal;
  /** True for an answer that is already being written: such an answer goes before other requests and is not counted in the metrics. */
  readonly isUrgent?: boolean;
}

interface Waiter {
  readonly attempt: MoneyAttempt;
  readonly isUrgent: boolean;
  readonly resolve: (blocked: FundBlock | null) => void;
}

/**
 * Queues of requests that wait until open holds release money, first in, first out for each fund. Answers that are being written go before
 * new requests. A request that is woken tries again: it gets the money, moves to the queue of another fund that lacks it, or stays first in
 * the queue where it waited. State: waiters.
 */
export class Contention {
  readonly waits: Waits = { served: 0, gave_up: 0, crowded: 0 };
  /** How long requests waited, in seconds. */
  readonly waited = new Spread(WAIT_BOUNDS);
  readonly #lines = new Map<string, Waiter[]>();
  readonly #timers: Timers;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** @returns the index of the first fund that has a queue, which a new request must join; -1 if no fund has a queue */
  lineBefore(funds: readonly FundRef[]): number {
    if (this.#lines.size === 0) return -1;
    for (let i = 0; i < funds.length; i++) if (this.#lines.has(fundName(funds[i]!.title))) return i;
    return -1;
  }

  /**
   * Waits in the queue of a fund.
   * @returns null after a successful attempt; the fund that lacks money, if `waitMs` are over or `signal` aborts
   */
  wait(blocked: FundBlock, { waitMs, attempt, signal, isUrgent = false }: MoneyWait): Promise<FundBlock | null> {
    if (waitMs <= 0 || signal?.aborted) return Promise.resolve(blocked);
    const line = fundName(blocked.fund.title);
    if (!isUrgent && (this.#lines.get(line)?.length ?? 0) >= WAITERS_MAX) {
      this.waits.crowded++;
      return Promise.resolve(blocked);
    }
    const began = performance.now();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        attempt,
        isUrgent,
        resolve: (obstacle) => {
          timer.close();
          if (isUrgent) return resolve(obstacle);
          this.waited.observe((performance.now() - began) / 1_000);
          if (obstacle) this.waits.gave_up++;
          else this.waits.served++;
          resolve(obstacle);
        },
      };
      // When the time to wait is over, the request makes a last attempt: the free money may be enough for this request, although it is not
      // enough for the requests that wait before it.
      const timer = this.#timers.after(waitMs, () => this.#dismiss(waiter, () => attempt(true)));
      signal?.addEventListener('abort', () => this.#dismiss(waiter, () => blocked), { once: true });
      this.#join(line, waiter);
    });
  }

  /** The number of requests that currently wait for money. */
  get waiting(): number {
    let waiting = 0;
    for (const line of this.#lines.values()) waiting += line.length;
    return waiting;
  }

  /** Lets requests that wait for the given funds try again. The ledger calls this method whenever money becomes free. It never throws. */
  wake(funds: readonly Pick<FundStanding, 'title'>[]): void {
    if (this.#lines.size === 0) return;
    for (const { title } of funds) this.#serve(fundName(title));
  }

  /** Lets all waiting requests try again. The ledger calls this method after a change of budgets. */
  wakeAll(): void {
    for (const line of [...this.#lines.keys()]) this.#serve(line);
  }

  #join(line: string, waiter: Waiter): void {
    const waiters = this.#lines.get(line);
    const behind = waiter.isUrgent ? (waiters?.findIndex(({ isUrgent }) => !isUrgent) ?? -1) : -1;
    if (!waiters) this.#lines.set(line, [waiter]);
    else if (behind < 0) waiters.push(waiter);
    else waiters.splice(behind, 0, waiter);
  }

  #serve(line: string): void {
    for (;;) {
      const first = this.#lines.get(line)?.[0];
      if (!first) return;
      const obstacle = first.attempt(false);
      const next = obstacle?.why === 'contended' ? fundName(obstacle.fund.title) : null;
      if (next === line) return;
      this.#leave(line, first);
      if (next !== null) this.#join(next, first);
      else first.resolve(obstacle);
    }
  }

  /** Removes a request from its queue, resolves it, and serves the queue. The call does nothing if the request was resolved before. */
  #dismiss(waiter: Waiter, answer: () => FundBlock | null): void {
    const [line] = [...this.#lines].find(([, waiters]) => waiters.includes(waiter)) ?? [];
    if (line === undefined) return;
    this.#leave(line, waiter);
    waiter.resolve(answer());
    this.#serve(line);
  }

  #leave(line: string, waiter: Waiter): void {
    const left = this.#lines.get(line)!.filter((other) => other !== waiter);
    if (left.length === 0) this.#lines.delete(line);
    else this.#lines.set(line, left);
  }
}
