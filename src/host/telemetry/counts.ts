import { Spread } from '../../core/time/spread.ts';
import type { Family, FamilySample, FamilySpec, Labels } from './families.ts';

/** The label value that all series beyond the maximum share. */
export const OTHER = 'other';

/** A value that only increases. */
export interface CounterCell {
  value: number;
}

interface Branch<Cell> {
  readonly below: Map<string, Branch<Cell>>;
  cell: Cell | null;
}

interface Series<Cell> {
  readonly labels: Labels;
  readonly cell: Cell;
}

/**
 * Cells by label values. The first `max` combinations of label values have their own cell; all other combinations share one cell with
 * `other` as every value. A lookup of a cell allocates no memory. Without labels, the only cell exists from the start. State: metrics.
 */
export class LabelledCells<Cell> {
  /** All cells in the order of their creation. */
  readonly all: Series<Cell>[] = [];
  readonly #names: readonly string[];
  readonly #make: (...values: readonly string[]) => Cell;
  readonly #max: number;
  readonly #root: Branch<Cell> = { below: new Map(), cell: null };

  constructor(names: readonly string[], max: number, make: (...values: readonly string[]) => Cell) {
    this.#names = names;
    this.#make = make;
    this.#max = max;
    if (names.length === 0) this.at();
  }

  /** Returns the cell of these values. Keep the returned cell if you use it often. @param values in the order of the label names */
  at(...values: readonly string[]): Cell {
    let branch: Branch<Cell> | undefined = this.#root;
    for (const value of values) branch = branch?.below.get(value);
    return branch?.cell ?? this.#add(values);
  }

  #add(values: readonly string[]): Cell {
    const own = this.all.length < this.#max ? values : this.#names.map(() => OTHER);
    let branch = this.#root;
    for (const value of own) {
      const next = branch.below.get(value) ?? { below: new Map(), cell: null };
      branch.below.set(value, next);
      branch = next;
    }
    if (branch.cell === null) {
      branch.cell = this.#make(...own);
      const labels = Object.fromEntries(this.#names.map((name, at) => [name, own[at] ?? '']));
      this.all.push({ labels, cell: branch.cell });
    }
    return branch.cell;
  }
}

export type LabelledCounter = ReturnType<typeof counter>;

/**
 * Makes a counter with at most `seriesMax` series, and one more series for all other label values.
 * @param spec `per` is the number of counted units in one displayed unit, such as microcredits in a Credit; 1 by default
 */
export function counter({ per = 1, ...spec }: FamilySpec & { readonly per?: number }, seriesMax = 1_000) {
  const cells = new LabelledCells<CounterCell>(spec.labels, seriesMax, () => ({ value: 0 }));
  const samples = (): FamilySample[] => cells.all.map(({ labels, cell }) => [labels, cell.value / per]);
  const family: Family = { ...spec, type: 'counter', samples };
  return { at: cells.at.bind(cells), family };
}

export type Histogram = ReturnType<typeof histogram>;

/** `bounds` are the ascending upper bounds of the buckets, without infinity. */
type HistogramSpec = FamilySpec & { readonly bounds: readonly number[] };

/** Makes a histogram whose number of series is bounded like a counter's. */
export function histogram(spec: HistogramSpec, seriesMax = 500) {
  const cells = new LabelledCells(spec.labels, seriesMax, () => new Spread(spec.bounds));
  return { at: cells.at.bind(cells), family: histogramFamily(spec, () => cells.all) };
}

type BucketCounts = Pick<Spread, 'counts' | 'sum'>;

const histogramFamily = (spec: HistogramSpec, read: () => Iterable<Series<BucketCounts>>): Family => ({
  ...spec,
  type: 'histogram',
  *samples() {
    for (const { labels, cell } of read()) yield* bucketSamples(labels, spec.bounds, cell);
  },
});

/** On the metrics page, the count of each bucket includes the counts of the lower buckets. */
function* bucketSamples(
  labels: Labels,
  bounds: readonly number[],
  { counts, sum }: BucketCounts,
): Generator<FamilySample> {
  let count = 0;
  for (const [at, le] of [...bounds, '+Inf'].entries()) {
    count += counts[at]!;
    yield [{ le: String(le), ...labels }, count, '_bucket'];
  }
  yield [labels, sum, '_sum'];
  yield [labels, count, '_count'];
}

/**
 * Makes a histogram without labels whose values are counted elsewhere. The server reads the values of the histogram when it makes the
 * metrics page.
 */
export const spread = (name: string, help: string, bounds: readonly number[], read: () => BucketCounts): Family =>
  histogramFamily({ name, help, labels: [], bounds }, () => [{ labels: {}, cell: read() }]);

/**
 * Makes a family whose values are kept elsewhere. The server reads the values of the family when it makes the metrics page. The metrics
 * page omits values that are not finite.
 */
const readFamily = (type: Family['type'], spec: FamilySpec, read: () => Iterable<FamilySample>): Family => ({
  ...spec,
  type,
  *samples() {
    for (const sample of read()) if (Number.isFinite(sample[1])) yield sample;
  },
});

const unlabelled = (type: Family['type']) => (name: string, help: string, read: () => number) =>
  readFamily(type, { name, help, labels: [] }, () => [[{}, read()]]);

/** Makes a gauge without labels that the server reads when it makes the metrics page. The metrics page omits a value that is not finite. */
export const gauge = unlabelled('gauge');

/**
 * Makes a counter without labels whose value is kept elsewhere. The server reads the value of the counter when it makes the metrics page.
 */
export const total = unlabelled('counter');

type LabelFigures = Iterable<readonly [value: string, figure: number]>;

const byLabel = (type: Family['type']) => (name: string, help: string, label: string, read: () => LabelFigures) =>
  readFamily(type, { name, help, labels: [label] }, () =>
    Array.from(read(), ([value, figure]) => [{ [label]: value }, figure]),
  );

/** Makes a gauge with one label that the server reads when it makes the metrics page. The metrics page omits values that are not finite. */
export const gaugeBy = byLabel('gauge');

/**
 * Makes a counter with one label whose values are kept elsewhere. The server reads the values of the counter when it makes the metrics
 * page.
 */
export const totalBy = byLabel('counter');

/** Reads a value once for all families of a metrics page, because the server makes a page in one turn of the event loop. */
export function oncePerTurn<Value extends object>(read: () => Value): () => Value {
  let last: Value | null = null;
  return () => {
    if (last) return last;
    queueMicrotask(() => {
      last = null;
    });
    last = read();
    return last;
  };
}
