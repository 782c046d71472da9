type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Waits for a value that is asked for: `ask` returns it, or a promise after which to ask again. */
export async function arrived<T>(ask: () => T | Promise<void>): Promise<T> {
  for (;;) {
    const value = ask();
    if (!(value instanceof Promise)) return value;
    await value;
  }
}

/** A value to come, asked for rather than awaited, so that those who pass it on need no promise of their own. */
export class Arrival<T> {
  readonly #settled: Promise<void>;
  #outcome: Outcome<T> | null = null;

  constructor(promise: Promise<T>) {
    this.#settled = promise.then(
      (value) => {
        this.#outcome = { value };
      },
      (error: unknown) => {
        this.#outcome = { error };
      },
    );
  }

  /** Returns the value, or a promise until it is there: ask again then. @throws the error that came in its place */
  get(): T | Promise<void> {
    const outcome = this.#outcome;
    if (!outcome) return this.#settled;
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }
}
