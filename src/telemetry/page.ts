import { Gauge, Registry } from 'prom-client';
import { type Counter, counter } from './counts.ts';
import type { Family, HistogramFamily, Labels } from './families.ts';

/** One line of the page, as prom-client writes it. */
interface Line {
  /** The family's, if left out. */
  readonly metricName?: string;
  /** Of a bucket: its bound. */
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of the whole series. Their text is kept as long as the object lives. */
  readonly sharedLabels: Labels;
  readonly value: number;
}

/** What prom-client asks of a metric when it writes the page. */
interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: Family['type'];
  readonly values: readonly Line[];
}

const NO_LABELS = {};

/**
 * A page of these families in Prometheus' text format 0.0.4. Throws where two have one name, or a name cannot be one. A
 * family that throws when it is read is shown without samples and counted, and the others are there.
 */
export function metricsPage(families: readonly Family[]): () => Promise<string> {
  const errors = metricsErrors();
  const registry = new Registry();
  const linesOf = (family: Family): readonly Line[] => {
    try {
      return family.type === 'histogram' ? bucketLines(family) : plainLines(family.samples());
    } catch {
      errors.at().value++;
      return [];
    }
  };
  // Last, so that it counts what this very page lacks.
  for (const family of [...families, errors.family]) registry.registerMetric(new Fed(family, linesOf));
  return () => registry.metrics();
}

export const metricsErrors = (): Counter =>
  counter({
    name: 'signalbox_metrics_errors_total',
    help: 'Families that could not be read for the page.',
    labels: [],
  });

/**
 * A metric that is read when the page is made, of whatever type. prom-client's own hold figures themselves: they take no
 * buckets that are counted, show 0 where there is nothing to show, and take label values for the same that are not.
 */
class Fed extends Gauge {
  readonly #family: Family;
  readonly #linesOf: (family: Family) => readonly Line[];

  constructor(family: Family, linesOf: (family: Family) => readonly Line[]) {
    super({ name: family.name, help: family.help, labelNames: family.labels, registers: [] });
    this.#family = family;
    this.#linesOf = linesOf;
  }

  /** Its registry asks for this first, and for `get` where it is not there. */
  async getForPromString(): Promise<Shown> {
    const { name, help, type } = this.#family;
    return { name, help, type, values: this.#linesOf(this.#family) };
  }
}

const plainLines = (samples: Iterable<readonly [Labels, number]>): Line[] =>
  Array.from(samples, ([sharedLabels, value]) => ({ labels: NO_LABELS, sharedLabels, value }));

/** Every bucket counts those below it, too. */
function bucketLines(family: HistogramFamily): Line[] {
  const { name, bounds } = family;
  const ends = [...bounds, '+Inf'].map((le) => ({ le }));
  const lines: Line[] = [];
  for (const { labels: sharedLabels, counts, sum } of family.spreads()) {
    let count = 0;
    for (let at = 0; at < ends.length; at++) {
      count += counts[at]!;
      lines.push({ metricName: `${name}_bucket`, labels: ends[at]!, sharedLabels, value: count });
    }
    lines.push({ metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels, value: sum });
    lines.push({ metricName: `${name}_count`, labels: NO_LABELS, sharedLabels, value: count });
  }
  return lines;
}
