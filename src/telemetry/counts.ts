import { Spread } from '../core/spread.ts';
import type { HistogramFamily, Labels, PlainFamily, Spec } from './families.ts';

/** What a label says where there are more series than are kept. */
export const OTHER = 'other';

/** One figure that only grows. */
export interface Tally {
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
 * Cells by the values of labels. Of as many sets of values as `max` each has its own; all others share one more, whose
 * values are all `other`. To look one up makes no text and no object.
 */
export class Cells<Cell> {
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

  /** `values` in the order of the labels' names. */
  at(...values: readonly string[]): Cell {
    let branch = this.#root;
    for (let i = 0; i < values.length; i++) {
      const next = branch.below.get(values[i]!);
      if (!next) return this.#add(values);
      branch = next;
    }
    return branch.leaf?.cell ?? this.#add(values);
  }

  /** In the order in which they came to be. */
  all(): readonly Series<Cell>[] {
    return this.#all;
  }

  #add(values: readonly string[]): Cell {
    return this.#place(this.#all.length < this.#max ? values : this.#names.map(() => OTHER));
  }

  #place(values: readonly string[]): Cell {
    let branch = this.#root;
    for (const value of values) {
      let next = branch.below.get(value);
      if (!next) {
        next = { below: new Map(), leaf: null };
        branch.below.set(value, next);
      }
      branch = next;
    }
    if (branch.leaf) return branch.leaf.cell;
    const labels = Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? '']));
    branch.leaf = { labels, cell: this.#make(...values) };
    this.#all.push(branch.leaf);
    return branch.leaf.cell;
  }
}

interface CounterSpec extends Spec {
  /** How much of what is told makes one of what is shown, such as microcredits a Credit; 1 if left out. */
  readonly per?: number;
}

export interface Counter {
  /** The figure of these values of the labels: keep it where it is raised often. */
  at(...values: readonly string[]): Tally;
  readonly family: PlainFamily;
}

/** A counter with at most `seriesMax` series, and one for the others. One without labels is shown from the start. */
export function counter({ per = 1, ...spec }: CounterSpec, seriesMax = 1_000): Counter {
  const cells = new Cells<Tally>(spec.labels, seriesMax, () => ({ value: 0 }));
  if (spec.labels.length === 0) cells.at();
  const family: PlainFamily = {
    ...spec,
    type: 'counter',
    samples: () => cells.all().map(({ labels, cell }) => [labels, cell.value / per]),
  };
  return { at: (...values) => cells.at(...values), family };
}

interface HistogramSpec extends Spec {
  /** Ascending, without infinity. */
  readonly bounds: readonly number[];
}

export interface Histogram {
  /** As of a counter. */
  at(...values: readonly string[]): Spread;
  readonly family: HistogramFamily;
}

/** A histogram, bounded and shown as a counter is. */
export function histogram(spec: HistogramSpec, seriesMax = 500): Histogram {
  const cells = new Cells(spec.labels, seriesMax, () => new Spread(spec.bounds));
  if (spec.labels.length === 0) cells.at();
  const family: HistogramFamily = {
    ...spec,
    type: 'histogram',
    spreads: () => cells.all().map(({ labels, cell: { counts, sum } }) => ({ labels, counts, sum })),
  };
  return { at: (...values) => cells.at(...values), family };
}

const readAs =
  (type: PlainFamily['type']) =>
  (name: string, help: string, read: () => number): PlainFamily => ({
    name,
    help,
    labels: [],
    type,
    samples: () => [[{}, read()]],
  });

/** A gauge without labels, read when it is asked for. */
export const gauge = readAs('gauge');

/** A counter without labels that is kept elsewhere, read in the same way. */
export const total = readAs('counter');

/** What many families of a page are told from, read once for all of them: a page is made within one turn of the event loop. */
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
