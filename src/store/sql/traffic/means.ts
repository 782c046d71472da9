import type { WrittenTraffic } from '../../record-traffic.ts';
import type { TrafficFigures } from '../../traffic.ts';
import type { SqlWrite } from '../statement.ts';

/** The figures of a stored bucket, without the names of series. */
export interface FigureRow extends TrafficFigures {
  readonly ttft: Uint8Array;
  readonly duration: Uint8Array;
}

/** A bucket in the form in which it is stored. */
export interface StoredBucket extends FigureRow {
  readonly width: number;
  readonly kind: number;
  readonly bucket: number;
  readonly series: number;
}

/** The parts of counting that depend on the database. */
export interface CountingMeans {
  /** The records of this process, which need not be read again. */
  readonly written: WrittenTraffic;
  /** Indexes a batch of records. @returns whether records are left to index */
  index(): Promise<boolean>;
  /** Returns the numbers of the last record and entry that may be counted. No row with a smaller number will appear later. */
  horizon(): Promise<{ readonly records: number; readonly entries: number }>;
  /** Writes buckets, and replaces stored buckets. */
  put(buckets: readonly StoredBucket[]): readonly SqlWrite[];
}
