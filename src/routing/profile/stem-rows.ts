/** An index that returns the row of a stem. */
export type StemIndex = Pick<ReadonlyMap<number, number>, 'get'>;

/**
 * The rows of stems in one array, as a hash table with open addressing. Every word of every question is looked up in the table, and the
 * entries of a `Map` would be scattered over memory.
 */
export class StemRows implements StemIndex {
  /** A stem and its row at each place, next to each other; row 0 marks a free place. */
  readonly #entries: Int32Array;
  readonly #mask: number;

  /** @param entries stems as 32-bit integers, with rows from 1 to 65,535. If a stem occurs twice, its last row counts. */
  constructor(entries: readonly (readonly [stem: number, row: number])[]) {
    // The table uses at most half of its places, which keeps searches short.
    const size = 2 ** Math.ceil(Math.log2(2 * entries.length + 2));
    this.#entries = new Int32Array(2 * size);
    this.#mask = size - 1;
    for (const [stem, row] of entries) {
      if (!(row >= 1 && row <= 0xffff)) throw new RangeError(`a row must be from 1 to 65535, not ${row}`);
      const place = this.#placeOf(stem);
      this.#entries[place] = stem;
      this.#entries[place + 1] = row;
    }
  }

  get(stem: number): number | undefined {
    const row = this.#entries[this.#placeOf(stem) + 1]!;
    return row === 0 ? undefined : row;
  }

  /** Returns the place of a stem, or the free place where it would be inserted. */
  #placeOf(stem: number): number {
    const entries = this.#entries;
    let place = (stem ^ (stem >>> 15)) & this.#mask;
    while (entries[2 * place + 1] !== 0 && entries[2 * place] !== stem) place = (place + 1) & this.#mask;
    return 2 * place;
  }
}
