import type { DecisionOutcome } from '../core/decision-record.ts';
import { timeOfId } from '../core/id.ts';
import { TimeHistogram } from '../core/time-histogram.ts';
import {
  keyModelSeries,
  NO_TRAFFIC,
  STEP_MS,
  TRAFFIC_FIGURES,
  TRAFFIC_KINDS,
  TRAFFIC_STEPS,
  type TrafficBucket,
  type TrafficFigures,
  type TrafficKind,
  type TrafficStep,
} from './traffic.ts';

/** The series that something counts in; empty for none. */
export interface TrafficPlace {
  /** Of the request, which is of its moment. */
  readonly id: number;
  readonly key: string;
  readonly team: string;
  readonly user: string;
  /** Series of the labels of the key. */
  readonly labels: readonly string[];
  readonly model: string;
  readonly provider: string;
  readonly task: string;
  readonly status: string;
}

type SumFigures = { -readonly [Name in keyof TrafficFigures]: number };

/** What is added to a bucket. */
export interface TrafficSum extends Omit<TrafficBucket, 'series' | 'figures'> {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  readonly series: string;
  readonly figures: SumFigures;
}

/** Shorter answers measure packets rather than a rate. */
const VISIBLE_MIN = 16;
const VISIBLE_MS_MIN = 50;

/** Times of a request, ms; null without. */
interface RequestTimes {
  readonly ttft: number | null;
  readonly duration: number | null;
}
const NO_TIMES: RequestTimes = { ttft: null, duration: null };

/** The sums of a bucket, by kind and series. */
class BucketSums {
  readonly #place: Pick<TrafficSum, 'step' | 'time'>;
  readonly #ofKinds = new Map<TrafficKind, Map<string, TrafficSum>>(TRAFFIC_KINDS.map((kind) => [kind, new Map()]));

  constructor(step: TrafficStep, time: number) {
    this.#place = { step, time };
  }

  *[Symbol.iterator](): Iterator<TrafficSum> {
    for (const sums of this.#ofKinds.values()) yield* sums.values();
  }

  of(kind: TrafficKind, series: string): TrafficSum {
    const sums = this.#ofKinds.get(kind)!;
    let sum = sums.get(series);
    if (!sum) {
      const times = { ttft: new TimeHistogram(), duration: new TimeHistogram() };
      sum = { ...this.#place, kind, series, figures: { ...NO_TRAFFIC }, ...times };
      sums.set(series, sum);
    }
    return sum;
  }

  merge(others: Iterable<TrafficSum>): void {
    for (const { kind, series, figures, ttft, duration } of others) {
      const sum = this.of(kind, series);
      for (const name of TRAFFIC_FIGURES) sum.figures[name] += figures[name];
      sum.ttft.merge(ttft);
      sum.duration.merge(duration);
    }
  }
}

type Buckets = Map<number, BucketSums>;

/** The bucket of a length that a moment is in. */
function bucketIn(buckets: Buckets, step: TrafficStep, moment: number): BucketSums {
  const time = moment - (moment % STEP_MS[step]);
  let sums = buckets.get(time);
  if (!sums) {
    sums = new BucketSums(step, time);
    buckets.set(time, sums);
  }
  return sums;
}

/**
 * Adds up what requests and charges add to buckets: of the total and each dimension, of each length. Each counts in the shortest bucket
 * that is kept of its time; longer ones are put together from those once all are added.
 */
export class TrafficSums {
  readonly #buckets: Readonly<Record<TrafficStep, Buckets>> = { minute: new Map(), hour: new Map(), day: new Map() };
  readonly #keptFrom: Readonly<Record<TrafficStep, number>>;

  /** @param keptFrom earlier buckets are left out, ms since 1970. Of longer ones earlier ones are kept. */
  constructor(keptFrom: Readonly<Record<TrafficStep, number>>) {
    this.#keptFrom = keptFrom;
  }

  *[Symbol.iterator](): Iterator<TrafficSum> {
    let shorter: Buckets = new Map();
    for (const step of TRAFFIC_STEPS) {
      const buckets: Buckets = new Map();
      for (const all of [this.#buckets[step], shorter])
        for (const [time, sums] of all) bucketIn(buckets, step, time).merge(sums);
      for (const sums of buckets.values()) yield* sums;
      shorter = buckets;
    }
  }

  /** Counts a request that was carried out. @param outcome null where it cannot be read */
  addRequest(place: Omit<TrafficPlace, 'provider'>, outcome: DecisionOutcome | null): void {
    const attempts = outcome?.attempts ?? [];
    const last = attempts.at(-1);
    const { status } = place;
    const here = { ...place, provider: last?.provider ?? '' };
    const own = last ? { ttft: last.firstPartMs, duration: last.ms } : NO_TIMES;
    const whole = outcome ? { ttft: outcome.firstPartMs, duration: outcome.totalMs } : NO_TIMES;
    const isError = status === 'failed' || status === 'broken';
    this.#add(here, { requests: 1, errors: isError ? 1 : 0, ...figuresOf(outcome) }, whole, own);
    for (const { model, provider, failure } of attempts) {
      if (failure !== null) this.#add({ ...place, model, provider }, { failedAttempts: 1 });
    }
  }

  addMoney(place: TrafficPlace, microcredits: number): void {
    if (microcredits !== 0) this.#add(place, { microcredits });
  }

  #add(place: TrafficPlace, figures: Partial<TrafficFigures>, whole = NO_TIMES, own = NO_TIMES): void {
    const moment = timeOfId(place.id);
    const step = TRAFFIC_STEPS.find((step) => moment - (moment % STEP_MS[step]) >= this.#keptFrom[step]);
    if (step === undefined) return;
    const bucket = bucketIn(this.#buckets[step], step, moment);
    const added = Object.entries(figures) as [keyof TrafficFigures, number][];
    for (const kind of TRAFFIC_KINDS) {
      const { ttft, duration } = OF_ATTEMPTS.has(kind) ? own : whole;
      for (const series of kind === 'label' ? place.labels : [seriesOf(kind, place)]) {
        const sum = bucket.of(kind, series);
        for (const [name, figure] of added) sum.figures[name] += figure;
        if (ttft !== null) sum.ttft.add(ttft);
        if (duration !== null) sum.duration.add(duration);
      }
    }
  }
}

/** Timed by the last attempt: a model is not slow because another one failed before it. */
const OF_ATTEMPTS: ReadonlySet<TrafficKind> = new Set(['model', 'provider', 'key_model']);

function seriesOf(kind: Exclude<TrafficKind, 'label'>, place: TrafficPlace): string {
  if (kind === 'total') return '';
  return kind === 'key_model' ? keyModelSeries(place.key, place.model) : place[kind];
}

function figuresOf(outcome: DecisionOutcome | null): Partial<TrafficFigures> {
  if (!outcome) return {};
  const { saved, usage, attempts } = outcome;
  if (!usage) return { saved };
  const { inputTokens: input, cachedInputTokens: cached, outputTokens: output, reasoningTokens } = usage;
  const { ms, firstPartMs } = attempts.at(-1) ?? { ms: 0, firstPartMs: null };
  const visible = output - reasoningTokens;
  const visibleMs = firstPartMs === null ? 0 : ms - firstPartMs;
  const isRate = visible >= VISIBLE_MIN && visibleMs >= VISIBLE_MS_MIN;
  return { saved, input, cached, output, ...(isRate && { visible, visibleMs }) };
}
