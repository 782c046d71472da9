import type { Runtime } from './runtime.ts';

/**
 * Runtimes that are no longer in force and whose quotes can still be paid. A reload must not change a quote.
 * State: quoted policies.
 */
export class QuotedRuntimes {
  readonly #now: () => number;
  #runtimes: readonly { readonly runtime: Runtime; readonly until: number }[] = [];

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps a replaced runtime until its last quote expires, if it made quotes. */
  keep(runtime: Runtime): void {
    const { payments } = runtime.snapshot;
    const present = this.#present();
    this.#runtimes = payments ? [...present, { runtime, until: this.#now() + payments.quoteTtlMs }] : present;
  }

  /** Drops all: after a change of secrets they would call providers with old ones. */
  clear(): void {
    this.#runtimes = [];
  }

  find(revision: string): Runtime | null {
    return this.#present().find(({ runtime }) => runtime.snapshot.revision === revision)?.runtime ?? null;
  }

  #present() {
    const now = this.#now();
    return this.#runtimes.filter(({ until }) => until > now);
  }
}
