import { type DecisionRecord, modelOf, statusOf } from '../../../src/core/decision/record.ts';
import type { RefusalRecord } from '../../../src/core/decision/refusal.ts';
import { timeOfId } from '../../../src/core/id.ts';
import { TimeHistogram } from '../../../src/core/time/histogram.ts';
import type { JournalReader, MoneyEntry } from '../../../src/store/journal-reader.ts';
import type { RecordLog } from '../../../src/store/records.ts';
import {
  labelSeries,
  NO_TRAFFIC,
  STEP_MS,
  TRAFFIC_FIGURES,
  type TrafficBucket,
  type TrafficFigures,
  type TrafficKind,
  type TrafficQuery,
  type TrafficTable,
} from '../../../src/store/traffic.ts';

interface Sources {
  /** All records ever written. */
  records(): Promise<readonly DecisionRecord[]>;
  /** All refusals ever written; absent for none. */
  readonly refusals?: () => Promise<readonly RefusalRecord[]>;
  readonly journal: Pick<JournalReader, 'money'>;
}

/** Something that counts in one series of each kind. */
interface Sample {
  readonly id: number;
  readonly series: Readonly<Record<Exclude<TrafficKind, 'label'>, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly figures: Partial<TrafficFigures>;
  readonly ttft: Readonly<Partial<Record<TrafficKind, number | null>>>;
  readonly duration: Readonly<Partial<Record<TrafficKind, number | null>>>;
}

/**
 * Traffic computed with one count over all records and the whole journal. This computation is slow but simple enough to be obviously
 * correct. The computation does not limit the number of series.
 */
export const memoryTraffic = (sources: Sources): TrafficTable => ({
  count: async () => false,
  buckets: (query) => countedBuckets(sources, query),
  async sums(query) {
    const sums = new Map<string | null, Record<keyof TrafficFigures, number>>();
    for (const { series, figures } of await countedBuckets(sources, query)) {
      const sum = sums.get(series) ?? { ...NO_TRAFFIC };
      for (const name of TRAFFIC_FIGURES) sum[name] += figures[name];
      sums.set(series, sum);
    }
    return [...sums].map(([series, sum]) => ({ series, ...sum }));
  },
  async modelsOf(key) {
    const samples = await samplesOf(sources);
    const names = samples.map(({ series }) => series.key_model).filter((name) => name.startsWith(`${key} `));
    return [...new Set(names)].sort();
  },
  async progress() {
    const times = (await samplesOf(sources)).map(({ id }) => timeOfId(id));
    const earliest = times.length === 0 ? null : Math.min(...times);
    const firstAt = earliest && Math.floor(earliest / STEP_MS.minute) * STEP_MS.minute;
    return { freshFrom: null, pastBefore: null, lastAt: times.length === 0 ? null : Math.max(...times), firstAt };
  },
  recount: async () => 0,
  prune: async () => {},
});

async function countedBuckets(sources: Sources, query: TrafficQuery): Promise<TrafficBucket[]> {
  const { step, kind, from, to, series } = query;
  const buckets = new Map<string, TrafficBucket>();
  for (const sample of await samplesOf(sources)) {
    const moment = timeOfId(sample.id);
    const time = Math.floor(moment / STEP_MS[step]) * STEP_MS[step];
    if (time < from || time >= to) continue;
    for (const name of namesOf(sample, kind)) {
      if (series !== null && !series.includes(name)) continue;
      const place = JSON.stringify([time, name]);
      const before = buckets.get(place) ?? {
        ...{ time, series: name, figures: NO_TRAFFIC, ttft: new TimeHistogram(), duration: new TimeHistogram() },
      };
      const figures = { ...before.figures };
      for (const [figure, value] of Object.entries(sample.figures)) figures[figure as keyof TrafficFigures] += value;
      buckets.set(place, { ...before, figures });
      const [ttft, duration] = [sample.ttft[kind] ?? null, sample.duration[kind] ?? null];
      if (ttft !== null) before.ttft.add(ttft);
      if (duration !== null) before.duration.add(duration);
    }
  }
  return [...buckets.values()].sort((one, other) => one.time - other.time);
}

const namesOf = ({ series, labels }: Sample, kind: TrafficKind): readonly string[] =>
  kind === 'label' ? Object.entries(labels).map(([name, value]) => labelSeries(name, value)) : [series[kind]];

async function samplesOf({ records, refusals, journal }: Sources): Promise<Sample[]> {
  const known = new Map((await records()).map((record) => [record.id, record]));
  const samples = [...known.values()].flatMap(requestSamples);
  for (const refusal of (await refusals?.()) ?? []) samples.push(refusalSample(refusal));
  for await (const page of journal.money({ from: 0, to: Number.POSITIVE_INFINITY, keyId: null, model: null })) {
    for (const entry of page) samples.push(...moneySamples(entry, known));
  }
  return samples;
}

/** Returns the records of a log, newest first. */
export async function recordsIn(log: Pick<RecordLog, 'list' | 'find'>): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = [];
  for (let after: number | null | undefined; after !== null; ) {
    const { entries, next } = await log.list({ limit: 1_000, ...(after !== undefined && { after }) });
    for (const { id } of entries) {
      const record = await log.find(id);
      if (record) found.push(record);
    }
    after = next;
  }
  return found;
}

const seriesOf = (place: Omit<Sample['series'], 'total' | 'key_model'>): Sample['series'] => ({
  ...{ total: '', ...place },
  key_model: `${place.key} ${place.model}`,
});

function requestSamples(record: DecisionRecord): Sample[] {
  const { id, outcome, facts } = record;
  if (!outcome) return [];
  const last = outcome.attempts.at(-1);
  const { keyId: key, team, user } = record;
  const labels = record.labels;
  const place = { key, team: team ?? '', user: user ?? '', task: facts.task, status: statusOf(record) };
  const { usage, firstPartMs, totalMs } = outcome;
  const visible = usage ? usage.outputTokens - usage.reasoningTokens : 0;
  const visibleMs = last?.firstPartMs == null ? 0 : last.ms - last.firstPartMs;
  const figures = {
    requests: 1,
    errors: ['failed', 'broken'].includes(outcome.status) ? 1 : 0,
    saved: outcome.saved,
    ...(usage && { input: usage.inputTokens, cached: usage.units?.cached_input ?? 0, output: usage.outputTokens }),
    ...(visible >= 16 && visibleMs >= 50 && { visible, visibleMs }),
  };
  const byCaller = (value: number | null) => ({
    ...{ total: value, key: value, team: value, user: value, label: value, task: value, status: value },
  });
  const byAttempt = (value: number | null) => ({ model: value, provider: value, key_model: value });
  const failures = outcome.attempts.filter(
    ({ failure }) => failure !== null && failure !== 'rejected' && failure !== 'context',
  );
  return [
    {
      ...{
        id,
        labels,
        figures,
        series: seriesOf({ ...place, model: modelOf(record), provider: last?.provider ?? '' }),
      },
      ttft: { ...byCaller(firstPartMs), ...byAttempt(last?.firstPartMs ?? null) },
      duration: { ...byCaller(totalMs), ...byAttempt(last?.ms ?? null) },
    },
    ...failures.map(({ model, provider }) => ({
      ...{ id, labels, figures: { failedAttempts: 1 }, ttft: {}, duration: {} },
      series: seriesOf({ ...place, model, provider }),
    })),
  ];
}

function refusalSample({ id, keyId: key, team, user, labels, answers }: RefusalRecord): Sample {
  const place = { key, team: team ?? '', user: user ?? '', task: '', status: 'refused', model: '', provider: '' };
  return { id, series: seriesOf(place), labels, figures: { refused: answers }, ttft: {}, duration: {} };
}

function moneySamples(entry: MoneyEntry, known: ReadonlyMap<number, DecisionRecord>): Sample[] {
  const { reservation: id, amount, kind, keyId: key, team, user, labels } = entry;
  if (id === null || amount === 0 || !['post', 'settle', 'expire', 'correct'].includes(kind)) return [];
  const record = known.get(id);
  const series = seriesOf({
    ...{ key, team, user, task: record?.facts.task ?? '', status: record ? statusOf(record) : '' },
    model: entry.model || (record ? modelOf(record) : ''),
    provider: entry.provider || (record?.outcome?.attempts.at(-1)?.provider ?? ''),
  });
  return [{ id, series, labels, figures: { microcredits: amount }, ttft: {}, duration: {} }];
}
