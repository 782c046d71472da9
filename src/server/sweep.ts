import type { Timer, Timers } from '../core/time/timers.ts';
import type { Instance } from '../store/instance.ts';
import { ALONE, type Lead } from '../store/leaders.ts';

/** The interval between two sweeps, ms. */
export const SWEEP_EVERY_MS = 10_000;

interface SweepOptions {
  /** How long dead instances have to come back, ms. 0 means that no instance can come back, so that the first sweep runs at once. */
  readonly graceMs: number;
  /** The instance that sweeps. */
  readonly instance: Pick<Instance, 'reachedForMs'>;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** Whether this instance sweeps for all instances. Without `lead`, this instance is alone. */
  readonly lead?: Lead;
  /** Called with the error of a part whose sweep of unfinished work failed. The next sweep tries the failed part again. */
  readonly onError: (part: string, error: unknown) => void;
}

/** Resolves the unfinished work of one kind that dead epochs have left, each item once. A `SweepPart` rejects with StoreError. */
type SweepPart = () => Promise<void>;

/**
 * Resolves what dead instances have left: holds, payments and names of running requests. One instance sweeps for all instances. Each part
 * resolves work conditionally, so two concurrent sweeps have the same result as one sweep. Sweeps begin `graceMs` after this instance
 * began, and again `graceMs` after each time in which it could not reach the store. While the store is unreachable, living instances cannot
 * renew their leases either, so they get time to come back before a sweep. State: sweep.
 */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #parts = new Map<string, SweepPart>();
  /** The time from which on the store was reachable, as far as this instance knows. */
  #since: number;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#since = options.clock();
  }

  /** Adds a part that the sweep resolves after the parts that were added earlier. */
  add(name: string, part: SweepPart): void {
    this.#parts.set(name, part);
  }

  /** Sweeps at an interval. If `graceMs` is 0, `begin` sweeps once before it resolves, and rejects with the first error. */
  async begin(): Promise<void> {
    if (this.#options.graceMs === 0) for (const part of this.#parts.values()) await part();
    this.#timer = this.#options.timers.every(SWEEP_EVERY_MS, () => void this.tick());
    this.#timer.unref();
  }

  /** Sweeps if the grace time has passed. `tick` never rejects. */
  tick(): Promise<void> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Stops sweeping; resolves once no sweep is in progress. */
  async stop(): Promise<void> {
    this.#timer?.close();
    await this.#running;
  }

  async #sweep(): Promise<void> {
    const { graceMs, instance, clock, onError, lead = ALONE } = this.#options;
    for (const [name, part] of this.#parts) {
      // After the previous part, another instance may lead, or the store may be unreachable.
      if (!lead.isHeld) return;
      if (Math.min(clock() - this.#since, instance.reachedForMs) < graceMs) return;
      try {
        await part();
      } catch (error) {
        this.#since = clock();
        onError(name, error);
      }
    }
  }
}
