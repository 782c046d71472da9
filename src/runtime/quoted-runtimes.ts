import type { Runtime } from './runtime.ts';

/**
 * Runtimes that are no longer in force, for as long as quotes of theirs can be paid: a reload must not change what was
 * promised.
 */
export class QuotedRuntimes {
  readonly #now: () => number;
  #kept: readonly { readonly runtime: Runtime; readonly until: number }[] = [];

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps a runtime that is being replaced, if it made quotes. */
  keep(runtime: Runtime): void {
    const { payments } = runtime.snapshot;
    const present = this.#present();
    this.#kept = payments ? [...present, { runtime, until: this.#now() + payments.quoteTtlMs }] : present;
  }

  find(revision: string): Runtime | null {
    return this.#present().find(({ runtime }) => runtime.snapshot.revision === revision)?.runtime ?? null;
  }

  #present() {
    const now = this.#now();
    return this.#kept.filter(({ until }) => until > now);
  }
}
