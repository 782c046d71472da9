import { TASK_NAMES } from '../../core/request/tasks.ts';
import type { Features } from './features.ts';
import file from './tables.json' with { type: 'json' };

/** The tasks that words can indicate, in the order of their columns. Images indicate the remaining task, `vision`. */
export const TASKS: readonly string[] = TASK_NAMES.filter((name) => name !== 'vision');

/** The columns: the tasks, and whether the answer is short. The last two are read from the question alone: whether it is easy, and hard. */
export const COLUMN = { short: TASKS.length, easy: TASKS.length + 1, hard: TASKS.length + 2 } as const;
export const COLUMNS = TASKS.length + 3;
/** The columns that a system prompt and earlier messages change too. */
export const CONTEXT_COLUMNS = COLUMN.easy;

/** The table has a slot for each value of the first bits of a feature. The last bits tell whether the slot is for this feature. */
export const SLOT_BITS = 15;
const CHECK = 0xff;
/** The figures are whole numbers from -7 to 7, times the scale of their column. Two of them share a byte. */
export const FIGURE_MAX = 7;
/** The bytes of a slot: the check, then the figures. */
export const SLOT_BYTES = 1 + COLUMNS / 2;
/** The figures of a slot in memory. */
const STRIDE = 16;

export interface TableFile {
  readonly scales: readonly number[];
  readonly base64: string;
}

/** Adds up the figures of features. A feature without a slot says nothing. */
export class LinearTable {
  readonly #checks = new Int16Array(1 << SLOT_BITS).fill(-1);
  readonly #figures = new Float32Array(STRIDE << SLOT_BITS);

  constructor({ scales, base64 }: TableFile) {
    const bytes = Uint8Array.fromBase64(base64);
    for (let slot = 0; slot < 1 << SLOT_BITS; slot++) {
      const at = slot * SLOT_BYTES;
      let isUsed = false;
      for (let column = 0; column < COLUMNS; column++) {
        const pair = bytes[at + 1 + (column >> 1)]!;
        const figure = ((column & 1) === 0 ? pair & 0xf : pair >> 4) - FIGURE_MAX - 1;
        // A byte of an empty slot is 0, which stands for no figure.
        if (pair === 0) continue;
        isUsed = true;
        this.#figures[slot * STRIDE + column] = figure * scales[column]!;
      }
      if (isUsed) this.#checks[slot] = bytes[at]!;
    }
  }

  /** Adds the figures of all features to the sums by column. @param columns how many columns count */
  add({ hashes, values, fixed, size }: Features, columns: number, sums: Float64Array): Float64Array {
    for (let at = 0; at < size; at++) {
      const slot = slotOf(hashes[at]!);
      if (this.#checks[slot] !== checkOf(hashes[at]!)) continue;
      const from = slot * STRIDE;
      for (let column = 0; column < CONTEXT_COLUMNS; column++)
        sums[column]! += values[at]! * this.#figures[from + column]!;
      for (let column = CONTEXT_COLUMNS; column < columns; column++)
        sums[column]! += fixed[at]! * this.#figures[from + column]!;
    }
    return sums;
  }

  /** Returns the figure of a feature in a column; 0 if it has no slot. */
  figure(hash: number, column: number): number {
    const slot = slotOf(hash);
    return this.#checks[slot] === checkOf(hash) ? this.#figures[slot * STRIDE + column]! : 0;
  }
}

export const slotOf = (hash: number): number => hash >>> (32 - SLOT_BITS);
export const checkOf = (hash: number): number => hash & CHECK;

/** The shipped table. */
export const TABLE = new LinearTable(file.tasks);
