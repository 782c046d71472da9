import { LinkedSet, type Links } from '../core/linked-set.ts';

/** The interval of looks, ms. */
const LOOK_MS = 250;

/** An item that is watched while it is open. */
export interface WatchedItem<Item> extends Links<Item> {
  /** Whether its time is over. @param now ms on the clock of the watch */
  isLate(now: number): boolean;
  /** Ends it, or the part of its life that is over. */
  cut(): void;
}

/** Cuts what is late. One timer looks at all that is open: a timer for each costs more than to read a small body. State: gate. */
export class Watch<Item extends WatchedItem<Item>> {
  /** Milliseconds that never decrease. */
  readonly now: () => number;
  readonly #open = new LinkedSet<Item>();
  #timer: ReturnType<typeof setInterval> | null = null;

  /** @param now milliseconds that never decrease */
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

  /** Takes out an item that is in this watch. */
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
