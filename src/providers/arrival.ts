type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Waits for a value that may arrive later: `ask` returns the value, or a promise after which to call it again. */
export async function arrived<T>(ask: () => T | Promise<void>): Promise<T> {
  for (;;) {
    const value = ask();
    if (!(value instanceof Promise)) return value;
    await value;
  }
}

/** A value that arrives later. Callers poll an `Arrival` with `get`, so that code that passes the value on needs no promise of its own. */
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

  /**
   * Returns the value, or a promise that resolves when the value is there; the caller then calls `get` again. @throws the error that
   * arrived instead of the value
   */
  get(): T | Promise<void> {
    const outcome = this.#outcome;
    if (!outcome) return this.#settled;
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }
}
