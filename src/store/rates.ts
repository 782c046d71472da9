import type { StatedLimit } from '../core/rate-limit.ts';

/** The things that a limit counts. */
export type RateUnit = 'requests' | 'tokens' | 'streams';

/** For so long an instance may use units that it took ahead, ms. */
export const AHEAD_MS = 1_000;

/** The wish of an instance for units of one limit and subject, with its account of those that it has. */
export interface RateDemand {
  readonly limit: string;
  readonly subject: string;
  readonly unit: RateUnit;
  /** Units a minute, at least 1; of streams: those at once. */
  readonly most: number;
  /** Units for requests that wait: as many are granted as there are. */
  readonly need: number;
  /** Units to be had beyond these; 0 for streams. */
  readonly ahead: number;
  /** Units that were granted and not used; negative: used without a grant, and debited in any case. 0 for streams. */
  readonly back: number;
  /** Streams of this instance that are open; else 0. */
  readonly held: number;
}

/** The answer to a demand. The units are debited. */
export interface RateGrant {
  readonly granted: number;
  /** Of those wanted ahead. They are to be used or given back within `AHEAD_MS` of the question. */
  readonly ahead: number;
  /** 1/60,000 of units that are left behind it; negative where more was used than expected. Of streams: those free. */
  readonly left: number;
}

/**
 * The limits that instances share. A grant is debited at once, so the units of a dead instance are lost, and never granted twice. In any
 * `w` milliseconds at most `most` + `most` × w / 60,000 units are used: all instances together take a second of the rate ahead in
 * each second, and a bucket fills up only so far that those of two seconds still fit. Streams are counted exactly: those of an instance
 * whose lease has ended count no more. State: shared limits.
 */
export interface RateStore {
  /**
   * Decides demands one by one, each in one step. Rejects with StoreError; then nothing is granted, and what was debited may be lost.
   * @param demands in the order of their limits, subjects and units, by code units: otherwise two instances wait for each other
   */
  take(demands: readonly RateDemand[]): Promise<readonly RateGrant[]>;
  /** The news of it is `policy`. Rejects with StoreError. */
  newest(): Promise<NewestRates>;
  /** Deletes the rows that tell nothing. Rejects with StoreError. */
  prune(): Promise<void>;
}

/** The rate limits of the policy that the books have accepted last. */
export interface NewestRates {
  readonly rank: number;
  readonly limits: readonly StatedLimit[];
}

/** The order in which demands are decided. */
export function rateOrder(one: RateDemand, other: RateDemand): number {
  return compare(one.limit, other.limit) || compare(one.subject, other.subject) || compare(one.unit, other.unit);
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
