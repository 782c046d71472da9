import { TASKS } from './tasks.ts';
import file from './words.json' with { type: 'json' };

/** The table has a row for each hash of a word, a beginning of a word or a pair of words. Words with the same hash share a row. */
export const ROW_BITS = 17;
/** The figures of a row: one for each task, then the columns of `COLUMN`. The rest is unused, so that a row fills a quarter of a cache line. */
export const COLUMNS = 16;
/** The columns after the tasks: a sentence that frames a question, an easy request and a hard request. */
export const COLUMN = { frame: TASKS.length, easy: TASKS.length + 1, hard: TASKS.length + 2 } as const;
/** The figures in the file are whole numbers of this many to one. */
export const STEPS = 40;

/** The figures by row and column, in `STEPS`. */
export const SHIPPED_WORDS = new Int8Array(Uint8Array.fromBase64(file.base64).buffer);

/** The shipped figures, four to a number, so that one addition sums two columns. */
const PACKED = new Int32Array(SHIPPED_WORDS.buffer);
const LANES = COLUMNS / 4;
const LOW = 0x00ff00ff;
/** Changing the sign bit of a figure adds this to it, so that no sum of packed figures is negative. */
const BIAS = 128;
const SIGN_BITS = 0x80808080 | 0;
/** The number of rows whose sums fit into half of a number: 257 times 255 is below 65,536. */
const ROWS_AT_ONCE = 256;

/** Adds the figures of rows of the shipped table, each times a value, to the sums by column. */
export function addShippedRows(rows: Int32Array, value: number, sums: Float64Array): void {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const to = Math.min(rows.length, from + ROWS_AT_ONCE);
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let e = 0;
    let f = 0;
    let g = 0;
    let h = 0;
    for (let at = from; at < to; at++) {
      const place = rows[at]! * LANES;
      const first = PACKED[place]! ^ SIGN_BITS;
      const second = PACKED[place + 1]! ^ SIGN_BITS;
      const third = PACKED[place + 2]! ^ SIGN_BITS;
      const fourth = PACKED[place + 3]! ^ SIGN_BITS;
      a = (a + (first & LOW)) | 0;
      b = (b + ((first >>> 8) & LOW)) | 0;
      c = (c + (second & LOW)) | 0;
      d = (d + ((second >>> 8) & LOW)) | 0;
      e = (e + (third & LOW)) | 0;
      f = (f + ((third >>> 8) & LOW)) | 0;
      g = (g + (fourth & LOW)) | 0;
      h = (h + ((fourth >>> 8) & LOW)) | 0;
    }
    const bias = BIAS * (to - from);
    const pairs = [a, b, c, d, e, f, g, h];
    for (let pair = 0; pair < pairs.length; pair++) {
      const column = 4 * (pair >> 1) + (pair & 1);
      sums[column]! += (value / STEPS) * ((pairs[pair]! & 0xffff) - bias);
      sums[column + 2]! += (value / STEPS) * ((pairs[pair]! >>> 16) - bias);
    }
  }
}

/** Adds the figures of rows of a table that is being fitted. */
export function addRows(rows: Int32Array, value: number, sums: Float64Array, table: Float32Array): void {
  for (const row of rows)
    for (let column = 0; column < COLUMNS; column++) sums[column]! += value * table[row * COLUMNS + column]!;
}
