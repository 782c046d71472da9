import type { Microcredits } from '../core/credits.ts';
import { Spread } from '../core/spread.ts';
import { type Blocked, type Fund, isBlocked } from './rules/fund.ts';
import type { Waits } from './sample.ts';

/** Requests that may wait for one fund; further ones are refused at once. */
const WAITERS_MAX = 1_000;
/** Upper bounds of the time that is waited, in seconds. */
export const WAIT_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

interface Waiter {
  /** Takes what is wanted, or says what is in the way now. */
  readonly take: () => Microcredits | Blocked;
  readonly resolve: (taken: Microcredits | Blocked) => void;
}

/**
 * Requests that wait for money which open reservations hold: first in, first out for each fund. Whoever is
 * woken tries again and takes, moves on to the fund that is in the way now, or stays at the head of the line.
 */
export class Contention {
  readonly waits: Waits = { served: 0, gave_up: 0, crowded: 0 };
  /** In seconds. */
  readonly waited = new Spread(WAIT_BOUNDS);
  readonly #lines = new Map<Fund, Waiter[]>();

  /** The first of these funds that has a line, to whose end a newcomer must go; null for none. */
  lineBefore(funds: readonly Fund[]): Fund | null {
    if (this.#lines.size === 0) return null;
    return funds.find((fund) => this.#lines.has(fund)) ?? null;
  }

  /** Resolves with what was taken, or with what is in the way once `waitMs` are over, or `signal` says that nobody waits. */
  wait(blocked: Blocked, waitMs: number, take: Waiter['take'], signal?: AbortSignal): Promise<Microcredits | Blocked> {
    if (waitMs <= 0 || signal?.aborted) return Promise.resolve(blocked);
    if ((this.#lines.get(blocked.fund)?.length ?? 0) >= WAITERS_MAX) {
      this.waits.crowded++;
      return Promise.resolve(blocked);
    }
    const began = performance.now();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        take,
        resolve: (taken) => {
          clearTimeout(timer);
          this.waited.observe((performance.now() - began) / 1_000);
          if (isBlocked(taken)) this.waits.gave_up++;
          else this.waits.served++;
          resolve(taken);
        },
      };
      // A last try: what came free may be enough for this one, though not for those before it.
      const timer = setTimeout(() => this.#dismiss(waiter, take), waitMs);
      signal?.addEventListener('abort', () => this.#dismiss(waiter, () => blocked), { once: true });
      this.#join(blocked.fund, waiter);
    });
  }

  /** Requests that wait now. */
  get waiting(): number {
    let waiting = 0;
    for (const line of this.#lines.values()) waiting += line.length;
    return waiting;
  }

  /** Lets those who wait for these funds try again. To be called whenever money comes free. Never throws. */
  wake(funds: readonly Fund[]): void {
    if (this.#lines.size === 0) return;
    for (const fund of funds) this.#serve(fund);
  }

  /** The budgets have changed: everybody tries again. */
  wakeAll(): void {
    for (const fund of [...this.#lines.keys()]) this.#serve(fund);
  }

  #join(fund: Fund, waiter: Waiter): void {
    const line = this.#lines.get(fund);
    if (line) line.push(waiter);
    else this.#lines.set(fund, [waiter]);
  }

  #serve(fund: Fund): void {
    for (;;) {
      const first = this.#lines.get(fund)?.[0];
      if (!first) return;
      const taken = first.take();
      const blocked = isBlocked(taken) && taken.why === 'contended' ? taken : null;
      if (blocked?.fund === fund) return;
      this.#leave(fund, first);
      if (blocked) this.#join(blocked.fund, first);
      else first.resolve(taken);
    }
  }

  /** Takes a waiter out of its line with an answer; those behind move up. Harmless for one that was answered. */
  #dismiss(waiter: Waiter, answer: () => Microcredits | Blocked): void {
    const [fund] = [...this.#lines].find(([, line]) => line.includes(waiter)) ?? [];
    if (!fund) return;
    this.#leave(fund, waiter);
    waiter.resolve(answer());
    this.#serve(fund);
  }

  #leave(fund: Fund, waiter: Waiter): void {
    const line = this.#lines.get(fund)!.filter((other) => other !== waiter);
    if (line.length === 0) this.#lines.delete(fund);
    else this.#lines.set(fund, line);
  }
}
