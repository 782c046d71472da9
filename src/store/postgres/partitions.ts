import { DAY_MS } from '../../core/clock.ts';
import { idSpan } from '../../core/id.ts';
import { pause, type Timers } from '../../core/timers.ts';
import { first, type SqlReader, sql } from '../sql/statement.ts';
import { StoreError } from '../store.ts';

const PARTITION = sql('SELECT records_partition_1(?::bigint, ?::bigint[]) AS full');
const BOUNDS = sql('SELECT unnest(records_bounds_1()) AS bound');

/** Time for which there are partitions ahead, at most so many. */
const AHEAD = idSpan(7 * DAY_MS);
const AHEAD_MAX = 7;
/** The width of one behind them, in those of the others, for a time in which none could be made: no lock was free for it. */
const RESERVE = 50;
/** A lock that is not free within the 100 ms of `partitions.sql` is asked for again, while requests go on. */
const TRIES = 10;
const PAUSE_MS = 500;

/**
 * The bounds of partitions from now on, least first.
 * @param now an ID of now
 * @param width in IDs
 */
export function boundsFrom(now: number, width: number): number[] {
  const ahead = Math.min(AHEAD_MAX, Math.ceil(AHEAD / width));
  const steps = Array.from({ length: ahead + 1 }, (_, at) => at);
  return [...steps, ahead + RESERVE].map((at) => (Math.floor(now / width) + at) * width);
}

/** The partitions of the tables of records: see `partitions.sql`. Any server may change them, and twice. State: pruning. */
export class RecordPartitions {
  readonly #db: SqlReader;
  /** Null for a database as it is at one moment, where none is changed. */
  readonly #timers: Timers | null;

  constructor(db: SqlReader, timers: Timers | null) {
    this.#db = db;
    this.#timers = timers;
  }

  /**
   * Makes those of a week ahead.
   * @param now an ID of now
   * @param width in IDs; those that have rows keep theirs
   * @throws StoreError by rejecting; `busy` where a lock was not free
   */
  async prepare(now: number, width: number): Promise<void> {
    if (await this.#change(0, boundsFrom(now, width)))
      throw new StoreError(
        'the last partition of records has too many rows to be divided: its old ones are deleted singly',
        {
          reason: 'full',
        },
      );
  }

  /**
   * Drops those that end at an ID or below it.
   * @param slack a partition of so many IDs at most in which it lies stays whole
   * @returns the ID below which rows are left to be deleted one by one
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
