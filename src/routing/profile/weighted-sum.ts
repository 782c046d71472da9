import { TASKS } from './tasks.ts';

/** The numbers in a row of weights: one for each task, padded with zeros so that a row fills a line of the processor's cache. */
const ROW = 16;
/** The number of tasks that are summed at once. */
const AT_ONCE = 6;
/** The maximum number of terms. A question has fewer features and stems than this. */
const TERMS_MAX = 8_192;

/** Rows of weights, each with `TASKS.length` numbers, in the form in which they are summed. */
export class WeightRows {
  /** The weights are in single precision, because every request loads some hundred rows. */
  readonly figures: Float32Array | Float64Array;

  constructor(weights: readonly number[] | Float64Array, isExact = false) {
    const length = (weights.length / TASKS.length) * ROW;
    this.figures = isExact ? new Float64Array(length) : new Float32Array(length);
    for (let from = 0, row = 0; from < weights.length; from += TASKS.length, row += ROW) {
      for (let task = 0; task < TASKS.length; task++) this.figures[row + task] = weights[from + task]!;
    }
  }
}

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

  /** Returns the sum for each task, added in the order of the terms. */
  over({ figures }: WeightRows): Float64Array {
    const { rows, values, size } = this;
    const sums = new Float64Array(TASKS.length);
    for (let task = 0; task < TASKS.length; task += AT_ONCE) {
      let first = 0;
      let second = 0;
      let third = 0;
      let fourth = 0;
      let fifth = 0;
      let sixth = 0;
      for (let at = 0; at < size; at++) {
        const place = ROW * rows[at]! + task;
        const value = values[at]!;
        first += value * figures[place]!;
        second += value * figures[place + 1]!;
        third += value * figures[place + 2]!;
        fourth += value * figures[place + 3]!;
        fifth += value * figures[place + 4]!;
        sixth += value * figures[place + 5]!;
      }
      // An assignment beyond the last task has no effect on a typed array.
      sums[task] = first;
      sums[task + 1] = second;
      sums[task + 2] = third;
      sums[task + 3] = fourth;
      sums[task + 4] = fifth;
      sums[task + 5] = sixth;
    }
    return sums;
  }
}
