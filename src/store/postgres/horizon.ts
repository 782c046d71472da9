import { pause, type Timers } from '../../core/time/timers.ts';
import { StoreError } from '../store.ts';
import type { BooksQuery } from './books/names.ts';

/** The pause before the writers are polled again, ms. It doubles with each poll, up to `LOOK_MS_MAX`. */
const LOOK_MS = 5;
const LOOK_MS_MAX = 80;
/**
 * The longest wait of `fresh`, ms. All transactions of Signalbox end earlier, because the database server limits their time
 * (`connection.ts`).
 */
const FRESH_MS = 20_000;

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/**
 * A mark has the last number that each sequence had given out, and the transactions that had already taken a number and were still running.
 */
interface Mark<Name extends string> {
  readonly numbers: Numbers<Name>;
  readonly writers: ReadonlySet<string>;
}

/**
 * Finds a horizon: the number up to which all rows of a table are visible. The highest visible number is no horizon, because a transaction
 * with a lower number may commit later. A transaction that takes a number from a sequence keeps a lock on the sequence until it ends. A
 * mark therefore reads the last numbers first, then the transactions that have such a lock. Once these transactions have ended, the numbers
 * are a horizon. Other transactions, such as a long transaction in another database of the same server, delay nothing.
 */
export class Horizon<Name extends string> {
  readonly #query: BooksQuery;
  readonly #timers: Timers;
  readonly #selectNumbers: string;
  readonly #selectWriters: string;
  #passed: Numbers<Name>;
  /** The latest mark, if its transactions have not all ended. */
  #next: Mark<Name> | null = null;

  /** @param sequences the names of the sequences, by the names under which this class reports their numbers */
  constructor(query: BooksQuery, timers: Timers, sequences: Readonly<Record<Name, string>>) {
    const all = Object.entries<string>(sequences);
    this.#query = query;
    this.#timers = timers;
    // The mark includes the numbers up to the next value of the sequence: the increment is 2, and the transaction that took a number may
    // also use the number after it.
    const last = (sequence: string) => `(SELECT CASE WHEN is_called THEN last_value + (
        SELECT seqincrement - 1 FROM pg_sequence WHERE seqrelid = '${sequence}'::regclass) ELSE 0 END FROM ${sequence})`;
    this.#selectNumbers = `SELECT ${all.map(([name, sequence]) => `${last(sequence)} AS ${name}`).join(', ')}`;
    this.#selectWriters = `SELECT virtualtransaction AS id FROM pg_locks WHERE mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND relation IN (${all.map(([, sequence]) => `'${sequence}'::regclass`).join(', ')})`;
    this.#passed = Object.fromEntries(all.map(([name]) => [name, 0])) as Record<Name, number>;
  }

  /**
   * Returns a horizon for each sequence: no row with the number of the horizon or a lower number will appear any more.
   * @param waitMs how long to wait for running transactions, ms. After this time, the method returns the last horizon that was found.
   */
  async within(waitMs: number): Promise<Numbers<Name>> {
    return (await this.#freshWithin(waitMs)) ?? this.#passed;
  }

  /**
   * Returns a horizon that includes all numbers given out before this call.
   * @throws StoreError by rejecting; `busy` if a transaction does not end
   */
  async fresh(): Promise<Numbers<Name>> {
    const numbers = await this.#freshWithin(FRESH_MS);
    if (numbers) return numbers;
    throw new StoreError('a transaction in the database does not end', { reason: 'busy' });
  }

  async #freshWithin(waitMs: number): Promise<Numbers<Name> | null> {
    for (let left = waitMs, look = LOOK_MS; ; look = Math.min(2 * look, LOOK_MS_MAX)) {
      const isNew = this.#next === null;
      this.#next ??= await this.#mark();
      const mark = this.#next;
      if (await this.#isPast(mark)) {
        this.#passed = mark.numbers;
        this.#next = null;
        if (isNew) return mark.numbers;
      } else if (left <= 0) return null;
      else {
        await pause(this.#timers, look);
        left -= look;
      }
    }
  }

  async #mark(): Promise<Mark<Name>> {
    const [numbers] = await this.#query<Record<Name, number>>(this.#selectNumbers, []);
    return { numbers: numbers!, writers: await this.#writers() };
  }

  async #isPast({ writers }: Mark<Name>): Promise<boolean> {
    return writers.size === 0 || writers.isDisjointFrom(await this.#writers());
  }

  async #writers(): Promise<ReadonlySet<string>> {
    return new Set((await this.#query<{ id: string }>(this.#selectWriters, [])).map(({ id }) => id));
  }
}
