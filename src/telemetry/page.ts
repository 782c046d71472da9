import { Gauge, Registry } from 'prom-client';
import { counter, type LabelledCounter } from './counts.ts';
import type { Family, HistogramFamily, Labels } from './families.ts';

/** A line of the page in prom-client's form. */
interface SampleLine {
  /** Defaults to the name of the family. */
  readonly metricName?: string;
  /** The bound of a bucket. */
  readonly labels: Readonly<Record<string, string | number>>;
  /** The labels of the series. prom-client caches their text by object. */
  readonly sharedLabels: Labels;
  readonly value: number;
}

/** The metric that prom-client writes to the page. */
interface PromMetric {
  readonly name: string;
  readonly help: string;
  readonly type: Family['type'];
  readonly values: readonly SampleLine[];
}

const NO_LABELS = {};

/**
 * Makes pages of these families in Prometheus' text format 0.0.4. A family that throws has no samples on the page, and
 * is counted.
 * @throws Error if two families share a name, or a name is invalid
 */
export function metricsPage(families: readonly Family[]): () => Promise<string> {
  const errors = metricsErrors();
  const registry = new Registry();
  const linesOf = (family: Family): readonly SampleLine[] => {
    try {
      return family.type === 'histogram' ? bucketLines(family) : plainLines(family.samples());
    } catch {
      errors.at().value++;
      return [];
    }
  };
  // The last, so that it includes the errors of this page.
  for (const family of [...families, errors.family]) registry.registerMetric(new FamilyMetric(family, linesOf));
  return () => registry.metrics();
}

export const metricsErrors = (): LabelledCounter =>
  counter({
    name: 'signalbox_metrics_errors_total',
    help: 'Metric families that failed to be read.',
    labels: [],
  });

/**
 * A metric of any type that is read when the page is made. The metrics of prom-client hold their own values: they
 * accept no counted buckets, show 0 instead of nothing, and confuse some label values.
 */
class FamilyMetric extends Gauge {
  readonly #family: Family;
  readonly #linesOf: (family: Family) => readonly SampleLine[];

  constructor(family: Family, linesOf: (family: Family) => readonly SampleLine[]) {
    super({ name: family.name, help: family.help, labelNames: family.labels, registers: [] });
    this.#family = family;
    this.#linesOf = linesOf;
  }

  /** The registry prefers this method to `get`. */
  async getForPromString(): Promise<PromMetric> {
    const { name, help, type } = this.#family;
    return { name, help, type, values: this.#linesOf(this.#family) };
  }
}

const plainLines = (samples: Iterable<readonly [Labels, number]>): SampleLine[] =>
  Array.from(samples, ([sharedLabels, value]) => ({ labels: NO_LABELS, sharedLabels, value }));

/** On the page, each bucket includes those below it. */
function bucketLines(family: HistogramFamily): SampleLine[] {
  const { name, bounds } = family;
  const ends = [...bounds, '+Inf'].map((le) => ({ le }));
  const lines: SampleLine[] = [];
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
