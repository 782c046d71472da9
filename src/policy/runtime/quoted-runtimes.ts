import { buildOf } from '../../core/policy/build.ts';
import type { Runtime } from './runtime.ts';

/**
 * Runtimes that are no longer active but whose quotes can still be paid, because a reload must not change a quote. State: quoted policies.
 */
export class QuotedRuntimes {
  readonly #now: () => number;
  #runtimes: readonly { readonly runtime: Runtime; readonly until: number }[] = [];

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps a replaced runtime until its last quote expires, if it made any quotes. */
  keep(runtime: Runtime): void {
    const { payments } = runtime.snapshot;
    const present = this.#present();
    this.#runtimes = payments ? [...present, { runtime, until: this.#now() + payments.quoteTtlMs }] : present;
  }

  /**
   * Drops all runtimes that quotes keep. Call `clear` after a change of secrets, because the runtimes would call providers with old
   * secrets.
   */
  clear(): void {
    this.#runtimes = [];
  }

  find(revision: string): Runtime | null {
    return this.#present().find(({ runtime }) => buildOf(runtime.snapshot) === revision)?.runtime ?? null;
  }

  #present() {
    const now = this.#now();
    return this.#runtimes.filter(({ until }) => until > now);
  }
}
