import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';
import type { AnswersReading } from './readings.ts';

/** Each bucket of times ends at this multiple of the end of the bucket before it. */
const BUCKET_RATIO = 1.1;
/** The share of answers that begin within `slowMs`. */
const SLOW_SHARE = 0.9;

/** A request that has ended. */
export interface EndedRequest {
  /** The error with which it ended; null for none. */
  readonly error: ErrorCode | null;
  /** The time to the first content of the answer, ms; null for no content. */
  readonly firstPartMs: number | null;
}

interface Minute {
  requests: number;
  errors: number;
  /** The number of answers by the bucket of their time. */
  readonly times: Map<number, number>;
}

const bucketOf = (ms: number): number => Math.ceil(Math.log(Math.max(1, ms)) / Math.log(BUCKET_RATIO));
const endOf = (bucket: number): number => BUCKET_RATIO ** bucket;

/** Counts requests for models, their errors and the times of their answers, for the last day, in minutes. State: answer counts. */
export class AnswerCounts {
  readonly #minutes = new Map<number, Minute>();

  /** Counts a request. Requests that the caller can correct do not count. @param now ms since 1970 */
  add({ error, firstPartMs }: EndedRequest, now: number): void {
    const isError = error !== null && ERRORS[error].status >= 500;
    if (error !== null && !isError) return;
    const at = Math.floor(now / MINUTE_MS);
    const minute = this.#minutes.get(at) ?? this.#begin(at);
    minute.requests++;
    if (isError) minute.errors++;
    if (isError || firstPartMs === null) return;
    const bucket = bucketOf(firstPartMs);
    minute.times.set(bucket, (minute.times.get(bucket) ?? 0) + 1);
  }

  /** @param now ms since 1970 */
  within(windowMs: number, now: number): AnswersReading {
    const sum = { requests: 0, errors: 0, answers: 0 };
    const times = new Map<number, number>();
    for (const [at, minute] of this.#minutes) {
      if (at * MINUTE_MS <= now - windowMs) continue;
      sum.requests += minute.requests;
      sum.errors += minute.errors;
      for (const [bucket, count] of minute.times) {
        times.set(bucket, (times.get(bucket) ?? 0) + count);
        sum.answers += count;
      }
    }
    return { ...sum, slowMs: slowest(times, sum.answers) };
  }

  #begin(at: number): Minute {
    for (const one of this.#minutes.keys()) if (one <= at - DAY_MS / MINUTE_MS) this.#minutes.delete(one);
    const minute = { requests: 0, errors: 0, times: new Map() };
    this.#minutes.set(at, minute);
    return minute;
  }
}

/** Returns the end of the bucket within which `SLOW_SHARE` of the answers begin. */
function slowest(times: ReadonlyMap<number, number>, answers: number): number {
  let left = SLOW_SHARE * answers;
  for (const [bucket, count] of [...times].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return answers === 0 ? 0 : endOf(bucket);
  }
  return 0;
}
