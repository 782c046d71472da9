/** The neighbours of an item in its `LinkedSet`; null in none. */
export interface Links<Item> {
  before: Item | null;
  after: Item | null;
}

/**
 * Items in the order in which they were added. Each carries its links, and is in one such set at most. A Set that requests
 * pass through keeps what was deleted from it in memory until its next full collection; this one keeps nothing.
 */
export class LinkedSet<Item extends Links<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item that is in no set. */
  add(item: Item): void {
    item.before = this.#last;
    if (this.#last) this.#last.after = item;
    else this.#first = item;
    this.#last = item;
    this.#size++;
  }

  /** Takes out an item that is in this set. */
  remove(item: Item): void {
    const { before, after } = item;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    item.before = null;
    item.after = null;
    this.#size--;
  }

  /** Returns all that are in it now: the set may change while they are gone through. */
  all(): Item[] {
    const all: Item[] = [];
    for (let item = this.#first; item; item = item.after) all.push(item);
    return all;
  }
}
