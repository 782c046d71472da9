import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts';
import type { Microcredits } from '../core/credits.ts';
import type { TimeHistogram } from '../core/time-histogram.ts';

/** The lengths of buckets. */
export const TRAFFIC_STEPS = ['minute', 'hour', 'day'] as const;
export type TrafficStep = (typeof TRAFFIC_STEPS)[number];
export const STEP_MS: Readonly<Record<TrafficStep, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

/** How long buckets are kept, by their length, ms. */
const KEPT_MS: Readonly<Record<TrafficStep, number>> = {
  minute: 2 * STEP_MS.day,
  hour: 93 * STEP_MS.day,
  day: 1_098 * STEP_MS.day,
};

/** The first moments of which buckets are kept, by their length: whole hours, so that they seldom change. */
export const keptFromAt = (now: number): Readonly<Record<TrafficStep, number>> => ({
  minute: hourAt(now - KEPT_MS.minute),
  hour: hourAt(now - KEPT_MS.hour),
  day: hourAt(now - KEPT_MS.day),
});
const hourAt = (time: number): number => time - (time % STEP_MS.hour);

/** The dimensions that traffic is kept by. The series of `label` are labels of keys with their values, see `labelSeries`. */
export const TRAFFIC_DIMENSIONS = ['model', 'provider', 'key', 'team', 'user', 'task', 'status', 'label'] as const;
export type TrafficDimension = (typeof TRAFFIC_DIMENSIONS)[number];
/** By one label of keys, the series are its values. */
export type LabelGrouping = `label:${string}`;
/** The dimension that traffic is told by. */
export type TrafficGrouping = Exclude<TrafficDimension, 'label'> | LabelGrouping;

/** With the total, and what each key uses. Stores number them by their place, so the list only grows at its end. */
export const TRAFFIC_KINDS = [
  ...(['total', 'model', 'provider', 'key', 'team', 'task', 'status', 'key_model'] as const),
  ...(['user', 'label'] as const),
] as const satisfies readonly ('total' | 'key_model' | TrafficDimension)[];
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];

/** Series of a dimension that a day has by name; the rest of the day is one, of no name. */
export const SERIES_MAX = 2_000;

/** The series of a model that a key uses. IDs of keys have no spaces. */
export const keyModelSeries = (key: string, model: string): string => `${key} ${model}`;

/** How the series of a label begin, whatever its value is. No text of a key has a line break, but any may have an `=`. */
export const labelPrefix = (name: string): string => `${name}\n`;
/** The series of the keys with a label. A key counts in one for each of its labels, and without labels in none. */
export const labelSeries = (name: string, value: string): string => labelPrefix(name) + value;

/** Sums of a bucket. */
export interface TrafficFigures {
  /** Requests that were carried out, recommendations left out, where they ended. */
  readonly requests: number;
  /** Those that failed or broke off. */
  readonly errors: number;
  /** Attempts that the provider failed, where they did. What a provider refuses for what it says is not among them. */
  readonly failedAttempts: number;
  /** Charges less refunds, of the journal. */
  readonly microcredits: Microcredits;
  /** Against the baseline. */
  readonly saved: Microcredits;
  readonly input: number;
  /** Part of `input`. */
  readonly cached: number;
  readonly output: number;
  /** Output tokens without reasoning of answers that were streamed for long enough to tell a rate, and for how long, ms. */
  readonly visible: number;
  readonly visibleMs: number;
}
export const NO_TRAFFIC: TrafficFigures = {
  ...{ requests: 0, errors: 0, failedAttempts: 0, microcredits: 0, saved: 0 },
  ...{ input: 0, cached: 0, output: 0, visible: 0, visibleMs: 0 },
};
export const TRAFFIC_FIGURES = Object.keys(NO_TRAFFIC) as (keyof TrafficFigures)[];

/** A bucket of a series. */
export interface TrafficBucket {
  /** Its beginning, ms since 1970. */
  readonly time: number;
  /** Null for the rest of the dimension. */
  readonly series: string | null;
  readonly figures: TrafficFigures;
  /** To the first token and to the end, ms; of the last attempt by model and provider, else of the caller. */
  readonly ttft: TimeHistogram;
  readonly duration: TimeHistogram;
}

/** The buckets to read. Times are ms since 1970; a bucket is read where it begins within them. */
export interface TrafficQuery {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Names of series; null for all. */
  readonly series: readonly string[] | null;
}

/** The sums of one series, without its times. */
export interface SeriesSums extends TrafficFigures {
  /** Null for the rest. */
  readonly series: string | null;
}

/** How far traffic is counted. Times are ms since 1970. */
export interface TrafficProgress {
  /** All that was written before is counted; null where all is. */
  readonly freshFrom: number | null;
  /** What is written before is still being counted, the newest first; null once all is. */
  readonly pastBefore: number | null;
  /** When the last counted row was written; null where none is counted. */
  readonly lastAt: number | null;
  /** The beginning of the first bucket, as short as it is kept; null where nothing is counted yet. */
  readonly firstAt: number | null;
}

/**
 * Requests, money, tokens and times in buckets. They are counted from records and the journal, behind both, each of their rows once,
 * however many count. Money is that of the journal, at the moment of its hold, and all else that of the record. A charge whose record is
 * not there yet is of no task, no status, and where it names none, no model; it moves there with the record. State: traffic.
 */
export interface TrafficTable {
  /**
   * Counts one batch: new rows first, then those of the past, the newest first.
   * @param now ms since 1970; buckets too old for their length are not made
   * @returns whether rows are left, but for the few that came meanwhile
   */
  count(now: number): Promise<boolean>;
  buckets(query: TrafficQuery): Promise<readonly TrafficBucket[]>;
  /** The sums of each series, in no order. */
  sums(query: TrafficQuery): Promise<readonly SeriesSums[]>;
  /** The names of the series of one key among `key_model`. */
  modelsOf(key: string): Promise<readonly string[]>;
  progress(): Promise<TrafficProgress>;
  /**
   * Begins to count again all that records still tell; `count` does it.
   * @returns the moment before which buckets are kept as they are, since records were deleted: 0 for none. Null where the past is still
   * being counted, or another one has changed something: try again.
   */
  recount(): Promise<number | null>;
  /** Deletes buckets that are too old for their length, in batches. */
  prune(now: number): Promise<void>;
}
