import type { Microcredits } from '../core/money/credits.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time/clock.ts';
import type { TimeHistogram } from '../core/time/histogram.ts';

/** The bucket lengths. */
export const TRAFFIC_STEPS = ['minute', 'hour', 'day'] as const;
export type TrafficStep = (typeof TRAFFIC_STEPS)[number];
export const STEP_MS: Readonly<Record<TrafficStep, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

/** How long buckets of each length are kept, ms. */
const KEPT_MS: Readonly<Record<TrafficStep, number>> = {
  minute: 2 * STEP_MS.day,
  hour: 93 * STEP_MS.day,
  day: 1_098 * STEP_MS.day,
};

/**
 * For each length, the first moment for which buckets are kept. The first kept moment is rounded to whole hours, so that it seldom changes.
 */
export const keptFromAt = (now: number): Readonly<Record<TrafficStep, number>> => ({
  minute: hourAt(now - KEPT_MS.minute),
  hour: hourAt(now - KEPT_MS.hour),
  day: hourAt(now - KEPT_MS.day),
});
const hourAt = (time: number): number => time - (time % STEP_MS.hour);

/** The dimensions of the traffic statistics. A series of `label` is a label of keys with its value; see `labelSeries`. */
export const TRAFFIC_DIMENSIONS = ['model', 'provider', 'key', 'team', 'user', 'task', 'status', 'label'] as const;
export type TrafficDimension = (typeof TRAFFIC_DIMENSIONS)[number];
/** Groups traffic by a label of keys. The series are the values of the label. */
export type LabelGrouping = `label:${string}`;
/** The dimension by which traffic is grouped. */
export type TrafficGrouping = Exclude<TrafficDimension, 'label'> | LabelGrouping;

/**
 * The dimensions, the total, and the models that each key uses. Stores number these kinds by their position, so a new kind may only be
 * added at the end.
 */
export const TRAFFIC_KINDS = [
  ...(['total', 'model', 'provider', 'key', 'team', 'task', 'status', 'key_model'] as const),
  ...(['user', 'label'] as const),
] as const satisfies readonly ('total' | 'key_model' | TrafficDimension)[];
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];

/**
 * The number of series of a dimension that a day has by name. All further series of that day are counted in a single series without a name.
 */
export const SERIES_MAX = 2_000;

/** Returns the series of a model that a key uses. The parts are separated by a space, because IDs of keys have none. */
export const keyModelSeries = (key: string, model: string): string => `${key} ${model}`;

/**
 * Returns the text with which the series of a label begin, for any value. This text ends with a line break, because texts of keys may
 * contain `=` but no line break.
 */
export const labelPrefix = (name: string): string => `${name}\n`;
/**
 * Returns the series of the keys with a label. A key counts in a series for each of its labels, and a key without labels counts in no such
 * series.
 */
export const labelSeries = (name: string, value: string): string => labelPrefix(name) + value;

/** The sums of a bucket. */
export interface TrafficFigures {
  /** Requests that ran (recommendations do not count), in the series of their last attempt. */
  readonly requests: number;
  /** Requests that failed or broke off. */
  readonly errors: number;
  /**
   * The number of attempts that a provider failed, in the series of each attempt. An attempt that the provider refused because of the
   * content does not count.
   */
  readonly failedAttempts: number;
  /** Charges less refunds, from the journal. */
  readonly microcredits: Microcredits;
  /** Savings against the baseline, in microcredits. */
  readonly saved: Microcredits;
  readonly input: number;
  /** The part of `input` that the provider read from its cache. */
  readonly cached: number;
  readonly output: number;
  /**
   * `visible`: output tokens without reasoning, of answers that streamed long enough to measure a rate. `visibleMs`: how long these answers
   * streamed.
   */
  readonly visible: number;
  readonly visibleMs: number;
  /** Requests that were answered with a status from 400 up and did not run. They do not count in `requests` and `errors`. */
  readonly refused: number;
}
export const NO_TRAFFIC: TrafficFigures = {
  requests: 0,
  errors: 0,
  failedAttempts: 0,
  microcredits: 0,
  saved: 0,
  input: 0,
  cached: 0,
  output: 0,
  visible: 0,
  visibleMs: 0,
  refused: 0,
};
export const TRAFFIC_FIGURES = Object.keys(NO_TRAFFIC) as (keyof TrafficFigures)[];

/** A bucket of a series. */
export interface TrafficBucket {
  /** The start of the bucket, ms since 1970. */
  readonly time: number;
  /** The series; null for the further series of the dimension. */
  readonly series: string | null;
  readonly figures: TrafficFigures;
  /**
   * Times to the first token and to the end, ms. For a model or provider they measure the last attempt; for other series, the caller's
   * whole request.
   */
  readonly ttft: TimeHistogram;
  readonly duration: TimeHistogram;
}

/** Selects buckets whose start is within the given times, ms since 1970. */
export interface TrafficQuery {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  readonly from: number;
  /** The end of the period, exclusive. */
  readonly to: number;
  /** Names of series; null for all series. */
  readonly series: readonly string[] | null;
}

/** The sums of a series, without the histograms of times. */
export interface SeriesSums extends TrafficFigures {
  /** The series; null for the further series of the dimension. */
  readonly series: string | null;
}

/** How far traffic is counted. Times are ms since 1970. */
export interface TrafficProgress {
  /** All rows written before this time are counted; null if all rows are counted. */
  readonly freshFrom: number | null;
  /** Rows written before this time are still to be counted, newest first; null once all rows are counted. */
  readonly pastBefore: number | null;
  /** When the last counted row was written; null if no row is counted. */
  readonly lastAt: number | null;
  /** The start of the first bucket, in the shortest length that is kept; null if nothing is counted yet. */
  readonly firstAt: number | null;
}

/**
 * The traffic statistics: requests, money, tokens and times in buckets. The statistics are counted from records and from the journal some
 * time after these are written. Each row counts once, even if several servers count. The money comes from the journal, at the time of the
 * hold; all other figures come from the record. A charge whose record is not written yet counts without task and status, and without a
 * model if the charge names none. When the record arrives, the charge moves to the right series. State: traffic.
 */
export interface TrafficTable {
  /**
   * Counts a batch of rows: first new rows, then rows of the past, newest first.
   * @param now ms since 1970. Buckets that are too old for their length are not made.
   * @returns whether rows are left, not counting the few rows that arrived during the call
   */
  count(now: number): Promise<boolean>;
  buckets(query: TrafficQuery): Promise<readonly TrafficBucket[]>;
  /** Returns the sums of each series, in no particular order. */
  sums(query: TrafficQuery): Promise<readonly SeriesSums[]>;
  /** Returns the names of the `key_model` series of one key. */
  modelsOf(key: string): Promise<readonly string[]>;
  progress(): Promise<TrafficProgress>;
  /**
   * Begins to count again all traffic whose records still exist. The method `count` does the work.
   * @returns the time before which buckets stay as they are, because their records were deleted: 0 for none. Null if the past is still
   * being counted or another instance changed the counting state; the caller should then try again.
   */
  recount(): Promise<number | null>;
  /** Deletes buckets that are too old for their length, in batches. */
  prune(now: number): Promise<void>;
}
