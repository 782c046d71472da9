import type { StatedLimit } from '../core/policy/rate-limit.ts';

/** The unit that a rate limit counts. */
export type RateUnit = 'requests' | 'tokens' | 'streams';

/** The time in which an instance may use units that it took in advance, ms. */
export const AHEAD_MS = 1_000;

/** A request of an instance for units of a rate limit and a subject. It also reports the units that the instance used and holds. */
export interface RateDemand {
  readonly limit: string;
  readonly subject: string;
  readonly unit: RateUnit;
  /** The limit: units per minute, at least 1; for streams, the number at the same time. */
  readonly most: number;
  /** The units for requests that are waiting. If fewer units are available than requested, the available units are granted. */
  readonly need: number;
  /** Additional units to take in advance; 0 for streams. */
  readonly ahead: number;
  /**
   * Units that were granted but not used, which the instance returns. If negative: units that the instance used without a grant, which are
   * debited in any case. 0 for streams.
   */
  readonly back: number;
  /** Open streams of this instance; 0 for other units. */
  readonly held: number;
}

/** The answer to a request for units. The granted units are already debited. */
export interface RateGrant {
  readonly granted: number;
  /** The units that are granted in advance. The instance must use or return these units within `AHEAD_MS` of its request. */
  readonly ahead: number;
  /**
   * The rest of the limit after the grant, in 1/60,000 of a unit; negative if more units were used than expected. For streams: the number
   * of free streams.
   */
  readonly left: number;
}

/**
 * The rate limits that instances share. A grant is debited at once. If an instance dies, its units are lost and never granted twice. In any
 * `w` milliseconds, at most `most` + `most` × w / 60,000 units are used. This bound holds because all instances together take at most one
 * second of the rate in advance in each second, and a bucket fills only so far that the units of two seconds still fit. Streams are counted
 * exactly: streams of an instance whose lease has ended no longer count. State: shared limits.
 */
export interface RateStore {
  /**
   * Decides requests for units one by one, each in one step. If the promise rejects with StoreError, nothing is granted, and debited units
   * may be lost.
   * @param demands sorted by limit, subject and unit in code-unit order. In any other order, two instances could wait for each other
   * forever.
   */
  take(demands: readonly RateDemand[]): Promise<readonly RateGrant[]>;
  /** Returns the rate limits of the newest policy, which are covered by the news `policy`. Rejects with StoreError. */
  newest(): Promise<NewestRates>;
  /** Deletes rows that no longer affect a limit. Rejects with StoreError. */
  prune(): Promise<void>;
}

/** The rate limits of the policy that the books accepted last. */
export interface NewestRates {
  readonly rank: number;
  readonly limits: readonly StatedLimit[];
}

/** Compares two requests for units by the order in which the store decides requests. */
export function rateOrder(one: RateDemand, other: RateDemand): number {
  return compare(one.limit, other.limit) || compare(one.subject, other.subject) || compare(one.unit, other.unit);
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
