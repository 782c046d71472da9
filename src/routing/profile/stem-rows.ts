/** Finds the row of a stem. */
export type StemIndex = Pick<ReadonlyMap<number, number>, 'get'>;

/**
 * The rows of stems in one array, by hashing with open addresses. Every word of every question is looked up, and the entries
 * of a `Map` would lie all over memory.
 */
export class StemRows implements StemIndex {
  /** At each place a stem and its row, side by side; row 0 for a free place. */
  readonly #entries: Int32Array;
  readonly #mask: number;

  /** @param entries stems as 32-bit integers; rows from 1 to 65,535. The last of equal stems counts. */
  constructor(entries: readonly (readonly [stem: number, row: number])[]) {
    // At most half of the places are taken.
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

  /** Where a stem stands, or where it would. */
  #placeOf(stem: number): number {
    const entries = this.#entries;
    let place = (stem ^ (stem >>> 15)) & this.#mask;
    while (entries[2 * place + 1] !== 0 && entries[2 * place] !== stem) place = (place + 1) & this.#mask;
    return 2 * place;
  }
}
