import { timeOfId } from '../core/id.ts';
import { TimeHistogram } from '../core/time/histogram.ts';
import type { RecordTraffic, TrafficPlace } from './record-traffic.ts';
import {
  keyModelSeries,
  NO_TRAFFIC,
  STEP_MS,
  TRAFFIC_KINDS,
  TRAFFIC_STEPS,
  type TrafficBucket,
  type TrafficFigures,
  type TrafficKind,
  type TrafficStep,
} from './traffic.ts';

/** The sums of a bucket to which figures can be added. */
export type SumFigures = { -readonly [Name in keyof TrafficFigures]: number };

/** The figures that are to be added to a bucket. */
export interface TrafficSum extends Omit<TrafficBucket, 'series' | 'figures'> {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  readonly series: string;
  readonly figures: SumFigures;
}

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

  /** Returns the sums in which a request or charge counts. */
  at(place: TrafficPlace): TrafficSum[] {
    const sums: TrafficSum[] = [];
    for (const kind of TRAFFIC_KINDS) {
      if (kind === 'label') for (const series of place.labels) sums.push(this.of(kind, series));
      else sums.push(this.of(kind, seriesOf(kind, place)));
    }
    return sums;
  }

  merge(others: Iterable<TrafficSum>): void {
    for (const sum of others) addBucket(this.of(sum.kind, sum.series), sum);
  }
}

/** The histograms of a bucket that values can be added to. */
interface Adding extends Pick<TrafficBucket, 'ttft' | 'duration'> {
  readonly figures: SumFigures;
}

export function addBucket(
  to: Adding,
  { figures, ttft, duration }: Pick<TrafficBucket, 'figures' | 'ttft' | 'duration'>,
): void {
  addFigures(to.figures, figures);
  to.ttft.merge(ttft);
  to.duration.merge(duration);
}

/** The sums are written field by field, because looking up fields by name is slower. */
export function addFigures(to: SumFigures, more: TrafficFigures): void {
  to.requests += more.requests;
  to.errors += more.errors;
  to.failedAttempts += more.failedAttempts;
  to.microcredits += more.microcredits;
  to.saved += more.saved;
  to.input += more.input;
  to.cached += more.cached;
  to.output += more.output;
  to.visible += more.visible;
  to.visibleMs += more.visibleMs;
  to.refused += more.refused;
}

type Buckets = Map<number, BucketSums>;

/** Returns the bucket of a given length that contains a moment. */
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
 * Adds up requests and charges for the buckets: for the total and each dimension, and for each bucket length. Each request counts in the
 * shortest bucket that is still kept for its time. At the end, longer buckets are computed from shorter ones.
 */
export class TrafficSums {
  readonly #buckets: Readonly<Record<TrafficStep, Buckets>> = { minute: new Map(), hour: new Map(), day: new Map() };
  readonly #keptFrom: Readonly<Record<TrafficStep, number>>;
  /** For each bucket length: the start of the last bucket that was left out because of its age, ms since 1970. */
  readonly leftOut = new Map<TrafficStep, number>();

  /**
   * @param keptFrom for each bucket length, the time before which buckets are left out, ms since 1970. Longer buckets are kept for a longer
   * time.
   */
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

  /** Counts a request that ran. */
  addRequest(traffic: RecordTraffic): void {
    const bucket = this.#bucketAt(traffic.id);
    if (!bucket) return;
    for (const sum of bucket.at(traffic)) {
      addFigures(sum.figures, traffic.figures);
      const isOfAttempts = OF_ATTEMPTS.has(sum.kind);
      const ttft = isOfAttempts ? traffic.attemptTtft : traffic.ttft;
      const duration = isOfAttempts ? traffic.attemptDuration : traffic.duration;
      if (ttft !== null) sum.ttft.add(ttft);
      if (duration !== null) sum.duration.add(duration);
    }
    for (const { model, provider } of traffic.failures)
      for (const sum of bucket.at({ ...traffic, model, provider })) sum.figures.failedAttempts++;
  }

  addMoney(place: TrafficPlace, microcredits: number): void {
    const bucket = microcredits === 0 ? null : this.#bucketAt(place.id);
    for (const sum of bucket?.at(place) ?? []) sum.figures.microcredits += microcredits;
  }

  /** Returns the shortest bucket that is kept for the time of a request; null if no bucket is kept. */
  #bucketAt(id: number): BucketSums | null {
    const moment = timeOfId(id);
    for (const step of TRAFFIC_STEPS) {
      const time = moment - (moment % STEP_MS[step]);
      if (time >= this.#keptFrom[step]) return bucketIn(this.#buckets[step], step, moment);
      this.leftOut.set(step, Math.max(time, this.leftOut.get(step) ?? 0));
    }
    return null;
  }
}

/** The kinds of series whose times are measured for the last attempt only: a model is not slow because another model failed before it. */
const OF_ATTEMPTS: ReadonlySet<TrafficKind> = new Set(['model', 'provider', 'key_model']);

function seriesOf(kind: Exclude<TrafficKind, 'label'>, place: TrafficPlace): string {
  if (kind === 'total') return '';
  return kind === 'key_model' ? keyModelSeries(place.key, place.model) : place[kind];
}
