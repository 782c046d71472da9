import { Spread } from '../core/spread.ts';
import type { FamilySpec, HistogramFamily, Labels, PlainFamily } from './families.ts';

/** The label value of all series beyond the maximum. */
export const OTHER = 'other';

/** A value that only increases. */
export interface CounterCell {
  value: number;
}

interface Branch<Cell> {
  readonly below: Map<string, Branch<Cell>>;
  leaf: Series<Cell> | null;
}

interface Series<Cell> {
  readonly labels: Labels;
  readonly cell: Cell;
}

/**
 * Cells by label values. The first `max` combinations have their own cell, all others share one with `other` as every
 * value. A lookup allocates nothing.
 */
export class LabelledCells<Cell> {
  readonly #names: readonly string[];
  readonly #make: (...values: readonly string[]) => Cell;
  readonly #max: number;
  readonly #root: Branch<Cell> = { below: new Map(), leaf: null };
  readonly #all: Series<Cell>[] = [];

  constructor(names: readonly string[], max: number, make: (...values: readonly string[]) => Cell) {
    this.#names = names;
    this.#max = max;
    this.#make = make;
  }

  /** @param values in the order of the label names */
  at(...values: readonly string[]): Cell {
    let branch = this.#root;
    for (let i = 0; i < values.length; i++) {
      const next = branch.below.get(values[i]!);
      if (!next) return this.#add(values);
      branch = next;
    }
    return branch.leaf?.cell ?? this.#add(values);
  }

  /** In the order of creation. */
  all(): readonly Series<Cell>[] {
    return this.#all;
  }

  #add(values: readonly string[]): Cell {
    const own = this.#all.length < this.#max ? values : this.#names.map(() => OTHER);
    let branch = this.#root;
    for (const value of own) {
      const next = branch.below.get(value) ?? { below: new Map(), leaf: null };
      branch.below.set(value, next);
      branch = next;
    }
    if (!branch.leaf) {
      const labels = Object.fromEntries(this.#names.map((name, at) => [name, own[at] ?? '']));
      branch.leaf = { labels, cell: this.#make(...own) };
      this.#all.push(branch.leaf);
    }
    return branch.leaf.cell;
  }
}

export type LabelledCounter = ReturnType<typeof counter>;

/**
 * A counter with at most `seriesMax` series, and one for the rest. Without labels, it exists from the start.
 * @param spec `per` is the number of counted units in one displayed unit, such as microcredits in a Credit; 1 by default
 */
export function counter({ per = 1, ...spec }: FamilySpec & { readonly per?: number }, seriesMax = 1_000) {
  const cells = new LabelledCells<CounterCell>(spec.labels, seriesMax, () => ({ value: 0 }));
  if (spec.labels.length === 0) cells.at();
  const family: PlainFamily = {
    ...spec,
    type: 'counter',
    samples: () => cells.all().map(({ labels, cell }) => [labels, cell.value / per]),
  };
  /** The cell of these label values. Keep it if it is used often. */
  const at = cells.at.bind(cells);
  return { at, family };
}

export type Histogram = ReturnType<typeof histogram>;

/** A histogram, bounded like a counter. Its bounds are ascending, without infinity. */
export function histogram(spec: FamilySpec & { readonly bounds: readonly number[] }, seriesMax = 500) {
  const cells = new LabelledCells(spec.labels, seriesMax, () => new Spread(spec.bounds));
  if (spec.labels.length === 0) cells.at();
  const family: HistogramFamily = {
    ...spec,
    type: 'histogram',
    spreads: () => cells.all().map(({ labels, cell: { counts, sum } }) => ({ labels, counts, sum })),
  };
  /** The cell of these label values. Keep it if it is used often. */
  const at = cells.at.bind(cells);
  return { at, family };
}

type Figures = Iterable<readonly [labels: Labels, figure: number]>;

/** A family whose values are kept elsewhere, read when the page is made. Figures that are not finite are left out. */
const readFamily = (type: PlainFamily['type'], spec: FamilySpec, read: () => Figures): PlainFamily => ({
  ...spec,
  type,
  *samples() {
    for (const sample of read()) if (Number.isFinite(sample[1])) yield sample;
  },
});

const unlabelled = (type: PlainFamily['type']) => (name: string, help: string, read: () => number) =>
  readFamily(type, { name, help, labels: [] }, () => [[{}, read()]]);

/** A gauge without labels, read when the page is made. A figure that is not finite is left out. */
export const gauge = unlabelled('gauge');

/** A counter without labels whose value is kept elsewhere, read when the page is made. */
export const total = unlabelled('counter');

/** A histogram without labels, read when the page is made. */
export const spreadFamily = (
  { name, help, bounds }: Pick<HistogramFamily, 'name' | 'help' | 'bounds'>,
  read: () => Pick<Spread, 'counts' | 'sum'>,
): HistogramFamily => {
  const spreads = () => {
    const { counts, sum } = read();
    return [{ labels: {}, counts, sum }];
  };
  return { name, type: 'histogram', help, labels: [], bounds, spreads };
};

type LabelFigures = Iterable<readonly [value: string, figure: number]>;

const byLabel = (type: PlainFamily['type']) => (name: string, help: string, label: string, read: () => LabelFigures) =>
  readFamily(type, { name, help, labels: [label] }, () =>
    Array.from(read(), ([value, figure]) => [{ [label]: value }, figure]),
  );

/** A gauge with one label, read when the page is made. Figures that are not finite are left out. */
export const gaugeBy = byLabel('gauge');

/** A counter with one label whose values are kept elsewhere, read when the page is made. */
export const totalBy = byLabel('counter');

/** Reads a value once for all families of a page: a page is made in one turn of the event loop. */
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
