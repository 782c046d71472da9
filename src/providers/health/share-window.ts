const emptySlots = (length: number) => Array.from({ length }, () => ({ slot: 0, total: 0, part: 0 }));

/** Counts what happened in the last seconds or minutes, such as attempts, and a part of it, such as faults. */
export class ShareWindow {
  readonly #slotMs: number;
  /** The slots of the window. Each new slot replaces the slot that has left the window. */
  #slots: ReturnType<typeof emptySlots>;

  /**
   * @param length the number of slots in the window, including the current one
   * @param slotMs the length of a slot in ms
   */
  constructor(length = 10, slotMs = 1_000) {
    this.#slotMs = slotMs;
    this.#slots = emptySlots(length);
  }

  /** @param now monotonic ms @param part how much of the count belongs to the part */
  add(now: number, part: number, count = 1): void {
    const slot = Math.floor(now / this.#slotMs);
    const place = slot % this.#slots.length;
    if (this.#slots[place]!.slot !== slot) this.#slots[place] = { slot, total: 0, part: 0 };
    this.#slots[place]!.total += count;
    this.#slots[place]!.part += part;
  }

  /** Returns the sums over the window that ends now. */
  sums(now: number): { readonly total: number; readonly part: number } {
    const first = Math.floor(now / this.#slotMs) - this.#slots.length + 1;
    const inside = this.#slots.filter(({ slot }) => slot >= first);
    const sumOf = (figure: 'total' | 'part') => inside.reduce((sum, one) => sum + one[figure], 0);
    return { total: sumOf('total'), part: sumOf('part') };
  }

  clear(): void {
    this.#slots = emptySlots(this.#slots.length);
  }
}
