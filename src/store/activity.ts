import type { Spread } from '../core/spread.ts';

/** Upper bounds of the durations of transactions, in seconds: a sync of a good disk takes less than 1 ms, of a bad one more than 10. */
export const COMMIT_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

/** Figures of a store since it was opened. */
export interface StoreActivity {
  /** Durations of successful transactions in seconds, by `COMMIT_BOUNDS`. */
  readonly commits: Pick<Spread, 'counts' | 'sum'>;
  /** Writes waiting for a transaction. */
  readonly waiting: number;
  /** Failed reads, transactions and writes. */
  readonly errors: number;
  /** Connections that could not be made; absent where none is needed. */
  readonly failedConnections?: number;
  /** Whether the disk refused the last transaction. Its appends are repeated. */
  readonly isFailing: boolean;
}
