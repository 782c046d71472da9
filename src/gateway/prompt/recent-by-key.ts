/** The limits on the number and age of remembered values. */
export interface RecentLimits {
  /** The most values of one key at once. */
  readonly most: number;
  /** The most values of all keys at once. */
  readonly mostOfAll: number;
  /** A value that was not used for this time may be replaced by another, ms. */
  readonly idleMs: number;
}

interface RecentValue<T> {
  readonly value: T;
  /** When the value was last used, ms on the clock. */
  at: number;
}

/**
 * Values that callers name. Each API key has its own names, so no key can reach the values of another key. They are bounded in number and
 * age, and local to the process.
 */
export class RecentByKey<T> {
  readonly #clock: () => number;
  readonly #limits: RecentLimits;
  /** The keys by last use, each with its values by last use, the oldest first. */
  readonly #byKey = new Map<string, Map<string, RecentValue<T>>>();
  #size = 0;

  /** @param clock ms, never decreases */
  constructor(clock: () => number, limits: RecentLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The number of values that are remembered. */
  get size(): number {
    return this.#size;
  }

  /** Returns a value and marks it as the last used; undefined for none. */
  get(keyId: string, name: string): T | undefined {
    const values = this.#byKey.get(keyId);
    const found = values?.get(name);
    if (!values || !found) return undefined;
    this.#putLast(keyId, values);
    values.delete(name);
    values.set(name, found);
    found.at = this.#clock();
    return found.value;
  }

  /** Whether a key has the most values that it may have, and none of these values is idle. */
  isFull(keyId: string): boolean {
    const values = this.#byKey.get(keyId);
    if (!values) return false;
    this.#forgetIdle(values);
    return values.size >= this.#limits.most;
  }

  /** Remembers a value. If there is no room, the oldest value of the same key is removed, or the values of the oldest key. */
  set(keyId: string, name: string, value: T): void {
    const values = this.#byKey.get(keyId) ?? new Map<string, RecentValue<T>>();
    this.#putLast(keyId, values);
    if (values.delete(name)) this.#size--;
    this.#forgetIdle(values);
    if (values.size >= this.#limits.most) this.#forget(values, values.keys().next().value!);
    values.set(name, { value, at: this.#clock() });
    this.#size++;
    if (this.#size > this.#limits.mostOfAll) this.#forgetOldestKey();
  }

  #putLast(keyId: string, values: Map<string, RecentValue<T>>): void {
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, values);
  }

  #forget(values: Map<string, RecentValue<T>>, name: string): void {
    values.delete(name);
    this.#size--;
  }

  #forgetIdle(values: Map<string, RecentValue<T>>): void {
    const now = this.#clock();
    for (const [name, { at }] of values) {
      if (now - at < this.#limits.idleMs) return;
      this.#forget(values, name);
    }
  }

  #forgetOldestKey(): void {
    const [keyId, values] = this.#byKey.entries().next().value!;
    // If only one key has values, the oldest value of that key is removed.
    const isOnly = this.#byKey.size === 1;
    for (const name of values.keys()) {
      this.#forget(values, name);
      if (isOnly) return;
    }
    this.#byKey.delete(keyId);
  }
}
