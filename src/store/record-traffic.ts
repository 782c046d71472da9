import type { AttemptRecord } from '../core/decision/attempt.ts';
import type { DecisionOutcome } from '../core/decision/outcome.ts';
import { type DecisionRecord, modelOf, statusOf } from '../core/decision/record.ts';
import type { RefusalRecord } from '../core/decision/refusal.ts';
import { figureOf } from '../core/money/usage.ts';
import { isOfProvider } from '../core/request/failure-kinds.ts';
import { labelSeries, NO_TRAFFIC, type TrafficFigures } from './traffic.ts';

/** The series in which a request or a charge counts; an empty name for none. */
export interface TrafficPlace {
  /** The ID of the request, which contains its time. */
  readonly id: number;
  readonly key: string;
  readonly team: string;
  readonly user: string;
  /** Series of the key's labels. */
  readonly labels: readonly string[];
  readonly model: string;
  readonly provider: string;
  readonly task: string;
  readonly status: string;
}

/**
 * The figures that a decision record adds to the traffic statistics. The model and the provider are the model and the provider of the last
 * attempt. Times are ms, null for none.
 */
export interface RecordTraffic extends TrafficPlace {
  readonly figures: TrafficFigures;
  /** Time until the caller got the first token. */
  readonly ttft: number | null;
  readonly duration: number | null;
  /** Time until the last attempt returned its first token. */
  readonly attemptTtft: number | null;
  readonly attemptDuration: number | null;
  /** The model and the provider of each attempt that the provider failed. */
  readonly failures: readonly Pick<TrafficPlace, 'model' | 'provider'>[];
}

/**
 * The fewest visible tokens from which a rate is measured. With fewer tokens, the result would measure network packets rather than a rate.
 */
const VISIBLE_MIN = 16;
const VISIBLE_MS_MIN = 50;

/**
 * Makes the figures of a record from the columns of its row and its outcome.
 * @param outcome null for a recommendation, and if the outcome cannot be read
 */
export function recordTraffic(place: Omit<TrafficPlace, 'provider'>, outcome: DecisionOutcome | null): RecordTraffic {
  const attempts = outcome?.attempts ?? [];
  const last = attempts.at(-1);
  return {
    ...place,
    provider: last?.provider ?? '',
    figures: figuresOf(place.status, outcome),
    ttft: outcome?.firstPartMs ?? null,
    duration: outcome?.totalMs ?? null,
    attemptTtft: last?.firstPartMs ?? null,
    attemptDuration: last?.ms ?? null,
    failures: attempts.filter(hasProviderFailed),
  };
}

const hasProviderFailed = ({ failure }: AttemptRecord): boolean => failure !== null && isOfProvider(failure);

/** Makes the figures of a record from the record itself. These figures equal the figures that are made from the record's row. */
export const trafficOf = (record: DecisionRecord): RecordTraffic =>
  recordTraffic(
    {
      id: record.id,
      key: record.keyId,
      team: record.team ?? '',
      user: record.user ?? '',
      labels: labelsOf(record.labels),
      model: modelOf(record),
      task: record.facts.task,
      status: statusOf(record),
    },
    record.outcome,
  );

/**
 * Makes the figures of a refusal. Its series has no model, because callers can name any model, and each name would take a series.
 * @param answers the number of answers that the refusal counts
 */
export const refusedTraffic = (place: Omit<TrafficPlace, 'provider'>, answers: number): RecordTraffic => ({
  ...place,
  model: '',
  provider: '',
  figures: { ...NO_TRAFFIC, refused: answers },
  ttft: null,
  duration: null,
  attemptTtft: null,
  attemptDuration: null,
  failures: [],
});

export function labelsOf(labels: DecisionRecord['labels']): readonly string[] {
  const series: string[] = [];
  for (const name in labels) series.push(labelSeries(name, String(labels[name])));
  return series;
}

function figuresOf(status: string, outcome: DecisionOutcome | null): TrafficFigures {
  const usage = outcome?.usage;
  const last = outcome?.attempts.at(-1);
  const visible = usage ? usage.outputTokens - usage.reasoningTokens : 0;
  const visibleMs = last == null || last.firstPartMs === null ? 0 : last.ms - last.firstPartMs;
  const isRate = visible >= VISIBLE_MIN && visibleMs >= VISIBLE_MS_MIN;
  return {
    requests: 1,
    errors: status === 'failed' || status === 'broken' ? 1 : 0,
    failedAttempts: 0,
    microcredits: 0,
    saved: outcome?.saved ?? 0,
    input: usage?.inputTokens ?? 0,
    cached: usage ? figureOf(usage, 'cache_read') : 0,
    output: usage?.outputTokens ?? 0,
    visible: isRate ? visible : 0,
    visibleMs: isRate ? visibleMs : 0,
    refused: 0,
  };
}

/** The most records of one generation, which is more than a server writes between two counts. */
const GENERATION = 8_192;

/**
 * Keeps the figures of the records that this process wrote last, so that the counting of traffic need not read them again. State: traffic.
 */
export class WrittenTraffic {
  #newer = new Map<number, RecordTraffic>();
  #older = new Map<number, RecordTraffic>();

  /** Adds a record. If two records have the same ID, the first counts. */
  add(record: DecisionRecord): void {
    if (!this.find(record.id)) this.#put(trafficOf(record));
  }

  /** Adds a refusal like a record. */
  refuse({ id, keyId: key, team, user, labels, answers }: RefusalRecord): void {
    const holders = { key, team: team ?? '', user: user ?? '', labels: labelsOf(labels) };
    if (!this.find(id)) this.#put(refusedTraffic({ id, ...holders, model: '', task: '', status: 'refused' }, answers));
  }

  #put(traffic: RecordTraffic): void {
    if (this.#newer.size >= GENERATION) this.age();
    this.#newer.set(traffic.id, traffic);
  }

  /**
   * Finds the figures of a record. Its write may have failed, so the caller checks that the store has it.
   * @returns undefined for a record of another process, and for a record that was written too long ago
   */
  find(id: number): RecordTraffic | undefined {
    return this.#newer.get(id) ?? this.#older.get(id);
  }

  /**
   * Forgets the records that were added before the previous call. Two generations of records are kept because a charge may be counted after
   * its record.
   */
  age(): void {
    this.#older = this.#newer;
    this.#newer = new Map();
  }
}
