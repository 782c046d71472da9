/** The neighbours of an item in its `LinkedSet`; null if the item is in no set. */
export interface Links<Item> {
  before: Item | null;
  after: Item | null;
}

/**
 * A set in the order of insertion. Each item of a linked set stores its own links, so it can be in at most one such set. A `Set` would keep
 * deleted items in memory until its next full garbage collection; a `LinkedSet` does not.
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

  /** Removes an item that is in this set. */
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

  /** Returns a copy of the current items, so that the set may change while you iterate. */
  all(): Item[] {
    const all: Item[] = [];
    for (let item = this.#first; item; item = item.after) all.push(item);
    return all;
  }
}
