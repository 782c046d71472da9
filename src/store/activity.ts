import type { Spread } from '../core/time/spread.ts';

/**
 * Upper bounds of the durations of transactions, in seconds. A sync takes less than 1 ms on a good disk and more than 10 ms on a bad one.
 */
export const COMMIT_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

/** Figures about a store since it was opened. */
export interface StoreActivity {
  /** Durations of successful transactions in seconds, counted in the ranges of `COMMIT_BOUNDS`. */
  readonly commits: Pick<Spread, 'counts' | 'sum'>;
  /** Writes that wait for a transaction. */
  readonly waiting: number;
  /** Failed reads, transactions and writes. */
  readonly errors: number;
  /** Connection attempts that failed; absent for a database that needs no connection. */
  readonly failedConnections?: number;
  /** Whether the disk or the database refused the last transaction. The store then retries the appended writes. */
  readonly isFailing: boolean;
}
