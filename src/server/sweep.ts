import type { Timer, Timers } from '../core/timers.ts';
import { type InstanceName, isSameInstance, nameOf } from '../store/instance.ts';

/** The interval of sweeps, ms. */
const SWEEP_EVERY_MS = 10_000;

interface SweepOptions {
  /** How long instances are given to come back, ms; 0: none can, and the first sweep is at once. */
  readonly graceMs: number;
  /** The instance that sweeps: its name changes when it takes its lease anew. */
  readonly instance: InstanceName;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** Called with the error of a part that could not be swept, which the next sweep tries again. */
  readonly onError: (part: string, error: unknown) => void;
}

/** Resolves what dead epochs have left of one kind, each once. Rejects with StoreError. */
export type SweepPart = () => Promise<void>;

/**
 * Resolves what instances have left that will not come back: holds, payments, running names. Each part does so by condition, so that
 * two sweeps do what one does. It begins `graceMs` after this instance took its lease, and after each time in which the store was
 * away: then living instances could not renew theirs either, and they come back first. State: sweep.
 */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #parts = new Map<string, SweepPart>();
  #since: number;
  #name: InstanceName;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#since = options.clock();
    this.#name = nameOf(options.instance);
  }

  /** Adds what is to be swept, behind the parts before it. */
  add(name: string, part: SweepPart): void {
    this.#parts.set(name, part);
  }

  /** The store was away until now. */
  storeWasAway(): void {
    this.#since = this.#options.clock();
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
    const { graceMs, instance, clock, onError } = this.#options;
    if (!isSameInstance(this.#name, instance)) {
      this.#name = nameOf(instance);
      this.storeWasAway();
    }
    for (const [name, part] of this.#parts) {
      // The store may have gone away since the part before.
      if (clock() - this.#since < graceMs) return;
      try {
        await part();
      } catch (error) {
        this.storeWasAway();
        onError(name, error);
      }
    }
  }
}
