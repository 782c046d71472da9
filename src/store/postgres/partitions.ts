import { idSpan } from '../../core/id.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { pause, type Timers } from '../../core/time/timers.ts';
import { first, type SqlReader, sql } from '../sql/statement.ts';
import { StoreError } from '../store.ts';

const PARTITION = sql('SELECT records_partition_1(?::bigint, ?::bigint[]) AS full');
const BOUNDS = sql('SELECT unnest(records_bounds_1()) AS bound');

/** How far ahead partitions are created, as a span of IDs. At most `AHEAD_MAX` partitions are created ahead. */
const AHEAD = idSpan(7 * DAY_MS);
const AHEAD_MAX = 7;
/**
 * The width of the last partition, in multiples of the width of the other partitions. It takes the records while no partition can be
 * created because a lock is busy.
 */
const RESERVE = 50;
/**
 * `partitions.sql` waits at most 100 ms for a lock, so that requests are not blocked. Signalbox tries to get the lock this many times,
 * `PAUSE_MS` apart.
 */
const TRIES = 10;
const PAUSE_MS = 500;

/**
 * @param now the ID for the current time
 * @param width the width of a partition, in IDs
 * @returns the bounds of the partitions from the current one on, in ascending order
 */
export function boundsFrom(now: number, width: number): number[] {
  const ahead = Math.min(AHEAD_MAX, Math.ceil(AHEAD / width));
  const steps = Array.from({ length: ahead + 1 }, (_, at) => at);
  return [...steps, ahead + RESERVE].map((at) => (Math.floor(now / width) + at) * width);
}

/**
 * The partitions of the record tables (see `partitions.sql`). Any server may change the partitions, and repeating a change is harmless.
 * State: pruning.
 */
export class RecordPartitions {
  readonly #db: SqlReader;
  /** Timers for the pauses between attempts; null for a snapshot, in which no partition is changed. */
  readonly #timers: Timers | null;

  constructor(db: SqlReader, timers: Timers | null) {
    this.#db = db;
    this.#timers = timers;
  }

  /**
   * Creates the partitions for the next week.
   * @param now the ID for the current time
   * @param width the width of a new partition, in IDs. A partition that has rows keeps its width.
   * @throws StoreError by rejecting; `busy` if a lock was not free, `full` if the last partition has too many rows to be split
   */
  async prepare(now: number, width: number): Promise<void> {
    if (await this.#change(0, boundsFrom(now, width)))
      throw new StoreError(
        'the last partition of the records has too many rows to be split; old records are deleted row by row instead',
        {
          reason: 'full',
        },
      );
  }

  /**
   * Drops the partitions that contain only IDs below `before`.
   * @param slack the partition that contains `before` is kept whole if it is at most this wide, in IDs
   * @returns the ID below which the caller must delete the remaining rows one by one
   */
  async drop(before: number, slack: number): Promise<number> {
    try {
      await this.#change(before, []);
    } catch (cause) {
      if (cause instanceof StoreError && cause.reason === 'denied') return before;
      throw cause;
    }
    const bounds = (await this.#db.query<{ bound: number }>(BOUNDS)).map(({ bound }) => bound);
    const lower = bounds.findLast((bound) => bound <= before);
    const upper = bounds.find((bound) => bound > before);
    const isNarrow = lower !== undefined && upper !== undefined && upper - lower <= slack;
    return isNarrow ? lower : before;
  }

  async #change(before: number, bounds: readonly number[]): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        return (await first<{ full: number }>(this.#db, PARTITION, before, `{${bounds.join(',')}}`))?.full === 1;
      } catch (cause) {
        const isBusy = cause instanceof StoreError && cause.reason === 'busy';
        if (!isBusy || !this.#timers || tries === TRIES) throw cause;
        await pause(this.#timers, PAUSE_MS);
      }
    }
  }
}
