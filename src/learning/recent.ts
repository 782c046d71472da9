/**
 * Remembers at least the last `most` items, and fewer than twice as many. There are two generations: a single set would have
 * to find its oldest item for each new one, and that search passes every item deleted before.
 */
export class RecentItems<T> {
  readonly #most: number;
  #young = new Set<T>();
  #old: ReadonlySet<T> = new Set();

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds an item. @returns whether it is new */
  add(item: T): boolean {
    if (this.#young.has(item) || this.#old.has(item)) return false;
    this.#young.add(item);
    if (this.#young.size >= this.#most) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    return true;
  }
}
