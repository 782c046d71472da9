import { ERRORS, type ErrorCode } from '../../core/errors.ts';
import type { AnswersReading } from '../../core/tables/alerts/answers.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';

/** Each bucket of times ends at this multiple of the end of the bucket before it. */
const BUCKET_RATIO = 1.1;
/** The share of answers that begin within `slowMs`. */
const SLOW_SHARE = 0.9;

/** The most models and the most kinds of errors that are counted apart in a minute, because callers can name models that no policy declares. */
const KINDS_MAX = 50;

/** A request that has ended. */
export interface EndedRequest {
  /** The error with which it ended; null for none. */
  readonly error: ErrorCode | null;
  /** The model of its last attempt; null for no attempt. */
  readonly model: string | null;
  /** The provider of its last attempt; null for no attempt. */
  readonly provider: string | null;
  /** The time to the first content of the answer, ms; null for no content. */
  readonly firstPartMs: number | null;
}

/** The number of answers by the bucket of their time. */
type Times = Map<number, number>;

type ErrorKinds = Map<string, NonNullable<AnswersReading['mostFrequent']>>;

interface Minute {
  requests: number;
  errors: number;
  /** The errors by code and provider. */
  readonly kinds: ErrorKinds;
  /** The times of the answers of each model. An unknown model, and each model above `KINDS_MAX`, has the name ''. */
  readonly models: Map<string, Times>;
}

const add = <Key>(counts: Map<Key, number>, key: Key, count: number) => counts.set(key, (counts.get(key) ?? 0) + count);
const hasRoom = (counts: ReadonlyMap<string, unknown>, key: string): boolean =>
  counts.has(key) || counts.size < KINDS_MAX;

function addErrors(kinds: ErrorKinds, code: ErrorCode, provider: string | null, errors: number): void {
  const key = JSON.stringify([code, provider]);
  if (hasRoom(kinds, key)) kinds.set(key, { code, provider, errors: (kinds.get(key)?.errors ?? 0) + errors });
}

const bucketOf = (ms: number): number => Math.ceil(Math.log(Math.max(1, ms)) / Math.log(BUCKET_RATIO));
const endOf = (bucket: number): number => BUCKET_RATIO ** bucket;

/** Counts requests for models, their errors and the times of their answers, for the last day, in minutes. State: answer counts. */
export class AnswerCounts {
  readonly #minutes = new Map<number, Minute>();

  /** Counts a request. Requests that the caller can correct do not count. @param now ms since 1970 */
  add({ error, model, provider, firstPartMs }: EndedRequest, now: number): void {
    if (error !== null && ERRORS[error].status < 500) return;
    const at = Math.floor(now / MINUTE_MS);
    const minute = this.#minutes.get(at) ?? this.#begin(at);
    minute.requests++;
    if (error !== null) {
      minute.errors++;
      addErrors(minute.kinds, error, provider, 1);
    } else if (firstPartMs !== null) {
      const name = model !== null && hasRoom(minute.models, model) ? model : '';
      add(
        minute.models.getOrInsertComputed(name, () => new Map()),
        bucketOf(firstPartMs),
        1,
      );
    }
  }

  /** @param now ms since 1970 */
  within(windowMs: number, now: number): AnswersReading {
    const sum = { requests: 0, errors: 0, answers: 0 };
    const kinds: ErrorKinds = new Map();
    const times: Times = new Map();
    const models = new Map<string, Times>();
    for (const [at, minute] of this.#minutes) {
      if (at * MINUTE_MS <= now - windowMs) continue;
      sum.requests += minute.requests;
      sum.errors += minute.errors;
      for (const { code, provider, errors } of minute.kinds.values()) addErrors(kinds, code, provider, errors);
      for (const [model, ofModel] of minute.models) {
        const own = models.getOrInsertComputed(model, () => new Map());
        for (const [bucket, count] of ofModel) {
          add(times, bucket, count);
          add(own, bucket, count);
          sum.answers += count;
        }
      }
    }
    const slow = slowBucket(times, sum.answers);
    const slowOf = (ofModel: Times) =>
      ofModel.entries().reduce((answers, [bucket, count]) => answers + (bucket >= slow ? count : 0), 0);
    const [slowest] = [...models]
      .map(([model, own]) => ({ model, answers: slowOf(own), of: slowOf(times) }))
      .sort((one, other) => other.answers - one.answers);
    return {
      ...sum,
      mostFrequent: [...kinds.values()].sort((one, other) => other.errors - one.errors)[0] ?? null,
      slowMs: sum.answers === 0 ? 0 : endOf(slow),
      slowest: slowest?.model ? slowest : null,
    };
  }

  #begin(at: number): Minute {
    for (const one of this.#minutes.keys()) if (one <= at - DAY_MS / MINUTE_MS) this.#minutes.delete(one);
    const minute = { requests: 0, errors: 0, kinds: new Map(), models: new Map() };
    this.#minutes.set(at, minute);
    return minute;
  }
}

/** Returns the bucket within which `SLOW_SHARE` of the answers begin. */
function slowBucket(times: Times, answers: number): number {
  let left = SLOW_SHARE * answers;
  for (const [bucket, count] of [...times].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return bucket;
  }
  return 0;
}
