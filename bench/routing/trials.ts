import { chanceOf, shuffled } from './chance.ts';
import type { Row } from './data.ts';
import { type Pool, pick, type Sheet } from './pools.ts';

/** The numbers of outcomes at which to measure. */
export const OUTCOMES = [100, 300, 1_500, 3_500] as const;
/** The maximum share of teaching rows for a source without separate teaching rows; the other rows are measured. */
const TAUGHT_SHARE = 0.63;

/** A split of a pool's rows into teaching rows and measured rows. */
export interface Trial {
  readonly seed: number;
  readonly pool: Pool;
  /** The teaching rows in the order of learning. */
  readonly teach: Sheet;
  readonly test: Sheet;
  /** The index of each row of `test` in the pool's rows. */
  readonly testRows: Uint32Array;
  /** The share of good answers of each model outside of the test. */
  readonly declared: Float64Array;
  /** The share of good answers of each model by category, if the category has enough rows; otherwise `declared` counts. */
  readonly byCategory: ReadonlyMap<string, Float64Array>;
  /** The rows of the other sources. */
  readonly foreign: readonly Row[];
}

/** The minimum number of rows of a category for a declared quality of its own. */
const CATEGORY_ROWS_MIN = 10;

export function trialsOf(pool: Pool, train: readonly Row[], splits: number, seed: number): Trial[] {
  const foreign = train.filter(({ source }) => source !== pool.source);
  return Array.from({ length: splits }, (_, split) => {
    const own = seed * 1_000 + split;
    const { teach, test, testRows } = splitOf(pool, own);
    // The rows are shuffled, because a small K uses only the first rows.
    const declared = meansOf(teach, () => true);
    const categories = new Set(teach.rows.map(({ category }) => category));
    const byCategory = new Map<string, Float64Array>();
    for (const category of categories) {
      const count = teach.rows.filter((row) => row.category === category).length;
      if (count >= CATEGORY_ROWS_MIN)
        byCategory.set(
          category,
          meansOf(teach, (row) => row.category === category),
        );
    }
    return { seed: own, pool, teach, test, testRows, declared, byCategory, foreign };
  });
}

/** If a source has teaching rows, all other rows are measured, the same in every split. */
function splitOf({ train, test }: Pool, seed: number): Pick<Trial, 'teach' | 'test' | 'testRows'> {
  const chance = chanceOf(seed);
  if (train) {
    const testRows = Uint32Array.from(test.rows.keys());
    return { teach: pick(train, shuffled(train.rows.length, chance)), test, testRows };
  }
  const n = test.rows.length;
  const order = shuffled(n, chance);
  const taught = Math.min(OUTCOMES[OUTCOMES.length - 1]!, Math.floor(TAUGHT_SHARE * n));
  const testRows = order.slice(taught).sort();
  return { teach: pick(test, order.subarray(0, taught)), test: pick(test, testRows), testRows };
}

function meansOf({ rows, labels }: Sheet, counts: (row: Row) => boolean): Float64Array {
  const m = labels.length / rows.length;
  const means = new Float64Array(m);
  let total = 0;
  rows.forEach((row, at) => {
    if (!counts(row)) return;
    total++;
    for (let i = 0; i < m; i++) means[i]! += labels[at * m + i]!;
  });
  return means.map((sum) => sum / total);
}
