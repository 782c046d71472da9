/** Finds the row of a stem. */
export type StemIndex = Pick<ReadonlyMap<number, number>, 'get'>;

/**
 * The rows of stems in two arrays, by hashing with open addresses. Every word of every question is looked up, and the entries
 * of a `Map` would lie all over memory.
 */
export class StemRows implements StemIndex {
  readonly #stems: Int32Array;
  /** 0 for a free place. */
  readonly #rows: Uint16Array;
  readonly #mask: number;

  /** @param entries stems as 32-bit integers; rows from 1 to 65,535. The last of equal stems counts. */
  constructor(entries: readonly (readonly [stem: number, row: number])[]) {
    // At most half of the places are taken.
    const size = 2 ** Math.ceil(Math.log2(2 * entries.length + 2));
    this.#stems = new Int32Array(size);
    this.#rows = new Uint16Array(size);
    this.#mask = size - 1;
    for (const [stem, row] of entries) {
      if (!(row >= 1 && row <= 0xffff)) throw new RangeError(`a row must be from 1 to 65535, not ${row}`);
      const place = this.#placeOf(stem);
      this.#stems[place] = stem;
      this.#rows[place] = row;
    }
  }

  get(stem: number): number | undefined {
    const row = this.#rows[this.#placeOf(stem)]!;
    return row === 0 ? undefined : row;
  }

  /** The place of a stem, or the free one where it would stand. */
  #placeOf(stem: number): number {
    let place = (stem ^ (stem >>> 15)) & this.#mask;
    while (this.#rows[place] !== 0 && this.#stems[place] !== stem) place = (place + 1) & this.#mask;
    return place;
  }
}
