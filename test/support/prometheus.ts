/** A strict parser of Prometheus' text format 0.0.4: it throws on everything that the format or its conventions forbid. */

export interface PageSample {
  /** For a histogram with the suffix `_bucket`, `_sum` or `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PageFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly PageSample[];
}

export type Page = ReadonlyMap<string, PageFamily>;

const HELP = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\]|\\[\\n])*)$/;
const TYPE = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/sy;
const NUMBER = /^(?:[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\+Inf)$/;

export function readPage(text: string): Page {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, { name: string; help: string; type: string; samples: PageSample[] }>();
  const known = new Set<string>();
  let family: { name: string; help: string; type: string; samples: PageSample[] } | null = null;
  for (const line of text.slice(0, -1).split('\n')) {
    const fail = (why: string) => new Error(`${why}: ${line}`);
    const [, helped, help] = HELP.exec(line) ?? [];
    const [, typed, type] = TYPE.exec(line) ?? [];
    if (line === '') continue;
    if (helped !== undefined && help !== undefined) {
      if (families.has(helped)) throw fail('a family is there twice');
      family = { name: helped, help, type: '', samples: [] };
      families.set(helped, family);
    } else if (typed !== undefined && type !== undefined) {
      if (family?.name !== typed || family.type !== '') throw fail('a type without its help before it');
      family.type = type;
    } else {
      const sample = readSample(line, fail);
      if (!family || family.type === '' || !belongs(sample.name, family)) throw fail('a sample beside its family');
      const series = seriesName(sample);
      if (known.has(series)) throw fail('a series is there twice');
      known.add(series);
      family.samples.push(sample);
    }
  }
  for (const one of families.values()) check(one);
  return families;
}

function readSample(line: string, fail: (why: string) => Error): PageSample {
  const [, name, inner, number] = SAMPLE.exec(line) ?? [];
  if (name === undefined || number === undefined) throw fail('no sample');
  if (!NUMBER.test(number)) throw fail('no number');
  const labels: Record<string, string> = {};
  for (LABEL.lastIndex = 0; inner !== undefined && LABEL.lastIndex < inner.length; ) {
    const from = LABEL.lastIndex;
    const [, label, value] = LABEL.exec(inner) ?? [];
    if (label === undefined || value === undefined || LABEL.lastIndex <= from) throw fail('no label');
    if (label in labels) throw fail('a label is there twice');
    labels[label] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return { name, labels, value: number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number) };
}

const belongs = (name: string, { name: family, type }: Pick<PageFamily, 'name' | 'type'>): boolean =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].some((end) => name === family + end) : name === family;

function check({ name, type, help, samples }: PageFamily): void {
  const fail = (why: string) => new Error(`${name} ${why}`);
  if (type === '') throw fail('has no type');
  if (help === '') throw fail('says nothing of itself');
  if ((type === 'counter') !== name.endsWith('_total')) throw fail(`is a ${type}`);
  if (type !== 'gauge' && samples.some(({ value }) => !(value >= 0))) throw fail('has counted less than nothing');
  if (new Set(samples.map(({ labels: { le, ...labels } }) => Object.keys(labels).join())).size > 1) {
    throw fail('has not the same labels everywhere');
  }
  // Labels reserved for summaries and histograms; Prometheus' linter refuses them elsewhere.
  const reserved = type === 'histogram' ? ['quantile'] : ['quantile', 'le'];
  if (samples.some(({ labels }) => reserved.some((label) => label in labels))) throw fail('has a reserved label');
  if (type === 'histogram') checkHistogram(samples, fail);
}

function checkHistogram(samples: readonly PageSample[], fail: (why: string) => Error): void {
  const spreads = Map.groupBy(samples, ({ labels: { le, ...labels } }) => JSON.stringify(labels));
  for (const spread of spreads.values()) {
    const buckets = spread.filter(({ labels: { le } }) => le !== undefined);
    const [sum, count, ...others] = spread.filter(({ labels: { le } }) => le === undefined);
    const ends = buckets.map(({ labels: { le } }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
    if (!isAscending(ends, true) || ends.at(-1) !== Number.POSITIVE_INFINITY) throw fail('has wrong bounds');
    const counts = buckets.map(({ value }) => value);
    if (!isAscending(counts, false)) throw fail('has buckets that do not hold those below');
    if (others.length > 0 || !sum?.name.endsWith('_sum') || !count?.name.endsWith('_count')) throw fail('has no sum');
    if (count.value !== counts.at(-1)) throw fail('has another count than buckets');
  }
}

const isAscending = (figures: readonly number[], strictly: boolean): boolean =>
  figures.every((one, at) => at === 0 || (strictly ? one > figures[at - 1]! : one >= figures[at - 1]!));

/** Returns the name of a series as on the page, with its labels in a fixed order. */
export function seriesName({ name, labels }: Pick<PageSample, 'name' | 'labels'>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.sort().join(',')}}`;
}

export const allSamples = (page: Page): PageSample[] => [...page.values()].flatMap(({ samples }) => samples);

/** Returns the sum of all samples with this name and at least these labels; null if there are none. */
export function total(page: Page, name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const family = page.get(name) ?? page.get(name.replace(/_(?:bucket|sum|count)$/, ''));
  const found = (family?.samples ?? []).filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}
