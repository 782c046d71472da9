/**
 * The values that were derived from the last messages of one running conversation. The next turn has the same messages at its beginning, so only the
 * values of its last messages are derived again.
 */
export class ListMemory {
  /** By the number of their `ListValues` or `ListTotal`. */
  readonly entries: unknown[] = [];
}

/** Few lists have a memory at the same time. A memory for each message would cost the collector too much as a `WeakMap`. */
const memories = new WeakMap<readonly unknown[], ListMemory>();

/**
 * Lets values that are derived from a list be kept for later lists with the same memory. Items of the list that are objects must be frozen
 * if other lists have the same items.
 */
export function remember(list: readonly unknown[], memory: ListMemory): void {
  memories.set(list, memory);
}

export const memoryOf = (list: readonly unknown[]): ListMemory | undefined =>
  list.length < ITEMS_MIN ? undefined : memories.get(list);

/** The values of a shorter list are derived faster than they are found. */
const ITEMS_MIN = 6;

let count = 0;

/** Returns how many items two lists have in common at their beginnings. */
function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one[length] === other[length]) length++;
  return length;
}

interface ValuesEntry<Item, Value> {
  key: unknown;
  /** The items of the last list. Only this entry has the three lists, so it can change them. */
  readonly items: Item[];
  readonly values: Value[];
  /** How many values there are after each item. */
  readonly ends: number[];
}

/** Adds the values of an item. They may depend on earlier items and values, but not on later items. */
export type AddValues<Item, Value> = (item: Item, index: number, values: Value[]) => void;

/**
 * Values that are derived from the items of lists, any number for each item. Lists with the same memory have the values of their common
 * beginning in common. Two items are the same only if they are the same frozen object, so a result always equals the values of a list
 * without memory.
 */
export class ListValues<Item, Value> {
  readonly #index = count++;

  /**
   * Returns the values of all items of a list. The result is valid until the next call, and must not be changed.
   * @param key whatever else the values depend on; the values of another key are not used
   */
  of(list: readonly Item[], key: unknown, add: AddValues<Item, Value>): readonly Value[] {
    const memory = memoryOf(list);
    if (memory === undefined) {
      const values: Value[] = [];
      for (let at = 0; at < list.length; at++) add(list[at]!, at, values);
      return values;
    }
    const { items, values, ends } = this.#entryIn(memory, key);
    const same = commonLength(items, list);
    items.length = same;
    ends.length = same;
    values.length = same === 0 ? 0 : ends[same - 1]!;
    for (let at = same; at < list.length; at++) {
      const item = list[at]!;
      add(item, at, values);
      items.push(item);
      ends.push(values.length);
    }
    return values;
  }

  /** Returns the values of `of` in a list of their own, with the memory of the given list. */
  copyOf(list: readonly Item[], key: unknown, add: AddValues<Item, Value>): readonly Value[] {
    const values = this.of(list, key, add);
    const memory = memoryOf(list);
    if (memory === undefined) return values;
    const copy = values.slice();
    remember(copy, memory);
    return copy;
  }

  /** Whether the values of a list are kept. */
  keeps(list: readonly Item[]): boolean {
    return memoryOf(list) !== undefined;
  }

  /** Returns how many items at the beginning of a list have kept values. */
  sameIn(list: readonly Item[], key: unknown): number {
    const memory = memoryOf(list);
    return memory === undefined ? 0 : commonLength(this.#entryIn(memory, key).items, list);
  }

  #entryIn(memory: ListMemory, key: unknown): ValuesEntry<Item, Value> {
    // Only this object writes at this index.
    const known = memory.entries[this.#index] as ValuesEntry<Item, Value> | undefined;
    if (known !== undefined && known.key === key) return known;
    const entry: ValuesEntry<Item, Value> = { key, items: [], values: [], ends: [] };
    memory.entries[this.#index] = entry;
    remember(entry.values, memory);
    return entry;
  }
}

/** How many items at the end of a list are added again in the next turn, because clients change their last messages once more. */
const CHANGING = 4;

interface TotalEntry<Item, Total> {
  readonly items: Item[];
  /** The total of these items. */
  total: Total;
}

/** A total over the items of lists. Lists with the same memory continue the total of their common beginning. */
export class ListTotal<Item, Total> {
  readonly #index = count++;
  readonly #zero: () => Total;
  readonly #copy: (total: Total) => Total;

  /** @param zero returns the total of an empty list. @param copy copies a total that `add` changes */
  constructor(zero: () => Total, copy: (total: Total) => Total = (total) => total) {
    this.#zero = zero;
    this.#copy = copy;
  }

  /**
   * Returns the total of all items of a list.
   * @param add adds an item to a total, which it may change. @throws whatever `add` throws
   */
  of(list: readonly Item[], add: (total: Total, item: Item, index: number) => Total): Total {
    const memory = memoryOf(list);
    let total: Total;
    let from = 0;
    if (memory === undefined) total = this.#zero();
    else {
      const entry = this.#entryAt(memory, list);
      const until = list.length - CHANGING;
      const { items } = entry;
      for (let at = items.length; at < until; at++) {
        entry.total = add(entry.total, list[at]!, at);
        items.push(list[at]!);
      }
      from = items.length;
      total = this.#copy(entry.total);
    }
    for (let at = from; at < list.length; at++) total = add(total, list[at]!, at);
    return total;
  }

  /** Returns the kept total, if its items are the beginning of the list; otherwise an empty one. */
  #entryAt(memory: ListMemory, list: readonly Item[]): TotalEntry<Item, Total> {
    // Only this object writes at this index.
    const known = memory.entries[this.#index] as TotalEntry<Item, Total> | undefined;
    if (known !== undefined && commonLength(known.items, list) === known.items.length) return known;
    const entry: TotalEntry<Item, Total> = { items: [], total: this.#zero() };
    memory.entries[this.#index] = entry;
    return entry;
  }
}
