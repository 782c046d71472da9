import type { Timer, Timers } from '../core/timers.ts';
import type { Instance } from '../store/instance.ts';
import { ALONE, type Lead } from '../store/leaders.ts';

/** The interval of sweeps, ms. */
export const SWEEP_EVERY_MS = 10_000;

interface SweepOptions {
  /** How long instances are given to come back, ms; 0: none can, and the first sweep is at once. */
  readonly graceMs: number;
  /** The instance that sweeps. */
  readonly instance: Pick<Instance, 'reachedForMs'>;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** Whether this instance sweeps for all. Absent: it is alone. */
  readonly lead?: Lead;
  /** Called with the error of a part that could not be swept, which the next sweep tries again. */
  readonly onError: (part: string, error: unknown) => void;
}

/** Resolves what dead epochs have left of one kind, each once. Rejects with StoreError. */
type SweepPart = () => Promise<void>;

/**
 * Resolves what instances have left that will not come back: holds, payments, running names. One instance
 * does so for all, and each part by condition, so that two sweeps do what one does. It begins `graceMs` after this instance began, and after each time in which it did not reach the store:
 * then living instances could not renew their leases either, and they come back first. State: sweep.
 */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #parts = new Map<string, SweepPart>();
  /** Since when nothing is known against the store. */
  #since: number;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#since = options.clock();
  }

  /** Adds what is to be swept, behind the parts before it. */
  add(name: string, part: SweepPart): void {
    this.#parts.set(name, part);
  }

  /** Sweeps regularly. Where nobody can come back, resolves once all is swept; rejects with the first error. */
  async begin(): Promise<void> {
    if (this.#options.graceMs === 0) for (const part of this.#parts.values()) await part();
    this.#timer = this.#options.timers.every(SWEEP_EVERY_MS, () => void this.tick());
    this.#timer.unref();
  }

  /** Sweeps if it is time. Never rejects. */
  tick(): Promise<void> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolves once no sweep is under way. */
  async stop(): Promise<void> {
    this.#timer?.close();
    await this.#running;
  }

  async #sweep(): Promise<void> {
    const { graceMs, instance, clock, onError, lead = ALONE } = this.#options;
    for (const [name, part] of this.#parts) {
      // Another may lead by now, or the store may have gone away since the part before.
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
