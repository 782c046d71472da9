import { COLUMNS } from './word-table.ts';

/** The number of columns that are summed at once. */
const AT_ONCE = 4;
/** The maximum number of terms. A question has fewer features than this. */
const TERMS_MAX = 4_096;

/**
 * The terms of a sum of weighted rows: the rows and their factors. All questions reuse one sum, so that reading a question allocates no
 * arrays.
 */
export class WeightedSum {
  readonly rows = new Uint16Array(TERMS_MAX);
  readonly values = new Float64Array(TERMS_MAX);
  size = 0;

  add(row: number, value: number): void {
    this.rows[this.size] = row;
    this.values[this.size++] = value;
  }

  /** Returns the sum for each column, added in the order of the terms. @param figures rows of `COLUMNS` weights */
  over(figures: Float32Array): Float64Array {
    const { rows, values, size } = this;
    const sums = new Float64Array(COLUMNS);
    for (let column = 0; column < COLUMNS; column += AT_ONCE) {
      let first = 0;
      let second = 0;
      let third = 0;
      let fourth = 0;
      for (let at = 0; at < size; at++) {
        const place = COLUMNS * rows[at]! + column;
        const value = values[at]!;
        first += value * figures[place]!;
        second += value * figures[place + 1]!;
        third += value * figures[place + 2]!;
        fourth += value * figures[place + 3]!;
      }
      sums[column] = first;
      sums[column + 1] = second;
      sums[column + 2] = third;
      sums[column + 3] = fourth;
    }
    return sums;
  }
}
