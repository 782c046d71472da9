import type { WrittenTraffic } from '../../record-traffic.ts';
import type { TrafficFigures } from '../../traffic.ts';
import type { SqlWrite } from '../statement.ts';

/** A row without its names. */
export interface FigureRow extends TrafficFigures {
  readonly ttft: Uint8Array;
  readonly duration: Uint8Array;
}

/** A row as it is stored. */
export interface StoredBucket extends FigureRow {
  readonly width: number;
  readonly kind: number;
  readonly bucket: number;
  readonly series: number;
}

/** Counting by the means of one database. */
export interface CountingMeans {
  /** The records that need not be read back. */
  readonly written: WrittenTraffic;
  /** Brings the index behind records up to date by a batch. @returns whether records are left */
  index(): Promise<boolean>;
  /** Whether the index has all records of the past. */
  isIndexed(): Promise<boolean>;
  /** The numbers of the last rows that may be counted: below them none will appear any more. */
  horizon(): Promise<{ readonly records: number; readonly entries: number }>;
  /** Writes buckets in place of those that are there. */
  put(buckets: readonly StoredBucket[]): readonly SqlWrite[];
  /** An ID beyond all records of version 0.1; 0 where the database has none. */
  readonly oldEnd: number;
}
