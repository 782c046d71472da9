import type { KeyLimits } from '../../core/people/caller.ts';
import type { RateUnit } from '../../store/rates.ts';
import { refill, take, waitMs } from './bucket.ts';
import type { LimitShortage, RequestLimit } from './refusal.ts';

/** The units that a request takes; null if the limit on this unit is not checked. */
export type LimitUnits = Readonly<Record<RateUnit, number | null>>;

export const LIMIT_UNITS: readonly RateUnit[] = ['requests', 'tokens', 'streams'];
export const FIGURES: Readonly<Record<RateUnit, keyof KeyLimits>> = {
  requests: 'requestsPerMinute',
  tokens: 'tokensPerMinute',
  streams: 'concurrentStreams',
};

/** The suggested retry time for streams, because the end of a stream cannot be predicted; ms. */
export const STREAM_RETRY_MS = 1_000;

/** Counts units against limits. The accounts have the buckets of `bucketOf`. */
export interface LimitCounts {
  /**
   * Takes units from all limits, or from none.
   * @returns the limit with the longest wait that stops the request; null if no limit does. A promise if the store must be asked; it
   * rejects with StoreError
   */
  take(limits: readonly RequestLimit[], units: LimitUnits): LimitShortage | null | Promise<LimitShortage | null>;
  /** Takes units even if they are not available. A negative number gives units back to the limits. */
  add(limits: readonly RequestLimit[], units: LimitUnits): void;
  /** The age of the buckets of an account, ms. */
  ageOf(limit: Pick<RequestLimit, 'account'>): number;
}

/** Counts limits that only this process uses. */
export class LocalCounts implements LimitCounts {
  /** Returns whole milliseconds. */
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  take(limits: readonly RequestLimit[], units: LimitUnits): LimitShortage | null {
    this.#refill(limits);
    let worst: LimitShortage | null = null;
    for (const limit of limits) {
      for (const kind of LIMIT_UNITS) {
        const wanted = units[kind];
        const wait = wanted === null ? 0 : waitOf(limit, kind, wanted);
        if (wait > (worst?.waitMs ?? 0)) worst = { limit, kind, waitMs: wait, units: wanted! };
      }
    }
    if (!worst) this.#add(limits, units);
    return worst;
  }

  add(limits: readonly RequestLimit[], units: LimitUnits): void {
    this.#refill(limits);
    this.#add(limits, units);
  }

  ageOf(): number {
    return 0;
  }

  /** Streams are counted even under limits without a number for streams, because a new policy may add one. */
  #add(limits: readonly RequestLimit[], { requests, tokens, streams }: LimitUnits): void {
    for (const { account, figures } of limits) {
      account.streams += streams ?? 0;
      if (requests !== null && figures.requestsPerMinute !== null && account.requests) take(account.requests, requests);
      if (tokens !== null && figures.tokensPerMinute !== null && account.tokens) take(account.tokens, tokens);
    }
  }

  /** Uses the limits that are active now, which may be newer than those at admission. */
  #refill(limits: readonly RequestLimit[]): void {
    const now = this.#now();
    for (const { account } of limits) {
      if (account.requests) refill(account.requests, account.requests.perMinute, now);
      if (account.tokens) refill(account.tokens, account.tokens.perMinute, now);
    }
  }
}

function waitOf({ figures, account }: RequestLimit, kind: RateUnit, units: number): number {
  const figure = figures[FIGURES[kind]];
  if (figure === null) return 0;
  if (kind === 'streams') return units > 0 && account.streams + Math.min(units, figure) > figure ? STREAM_RETRY_MS : 0;
  const bucket = account[kind];
  return bucket ? waitMs(bucket, units) : 0;
}
