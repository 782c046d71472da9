import { LinkedSet, type Links } from '../../core/linked-set.ts';

/** The interval of the checks, ms. */
const LOOK_MS = 250;

/** An item that is watched while it is open. */
export interface WatchedItem<Item> extends Links<Item> {
  /**
   * Returns whether the time of the item is over.
   *
   * @param now ms on the watch's clock
   */
  isLate(now: number): boolean;
  /** Ends the item, or ends only the part of the item whose time is over. */
  cut(): void;
}

/**
 * Ends items whose time is over. A single timer checks all open items, because a timer for each item costs more than reading a small body.
 * State: gate.
 */
export class Watch<Item extends WatchedItem<Item>> {
  /** Returns milliseconds that never decrease. */
  readonly now: () => number;
  readonly #open = new LinkedSet<Item>();
  #timer: ReturnType<typeof setInterval> | null = null;

  /** @param now returns milliseconds that never decrease */
  constructor(now: () => number) {
    this.now = now;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Adds an item that is in no watch. */
  add(item: Item): void {
    this.#open.add(item);
    this.#timer ??= this.#look();
  }

  /** Removes an item of this watch. */
  remove(item: Item): void {
    this.#open.remove(item);
  }

  #look(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => {
      const now = this.now();
      for (const item of this.#open.all()) if (item.isLate(now)) item.cut();
      if (this.#open.size > 0) return;
      clearInterval(timer);
      this.#timer = null;
    }, LOOK_MS);
    timer.unref();
    return timer;
  }
}
