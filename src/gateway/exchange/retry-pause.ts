import type { Timers } from '../../core/time/timers.ts';

/** A pause between attempts that can be ended early. */
export class AttemptPause {
  #end: (() => void) | null = null;

  async wait(ms: number, timers: Timers): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#end = resolve;
    const timer = timers.after(ms, resolve);
    await promise;
    timer.close();
    this.#end = null;
  }

  end(): void {
    this.#end?.();
  }
}
