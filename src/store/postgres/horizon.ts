import { pause, type Timers } from '../../core/timers.ts';
import { StoreError } from '../store.ts';
import type { BooksQuery } from './books/names.ts';

/** Before a second look at which transactions are over, ms; before each other twice as long, up to the other. */
const LOOK_MS = 5;
const LOOK_MS_MAX = 80;
/** All of ours have ended by then, since the server bounds them (`connection.ts`). */
const FRESH_MS = 20_000;

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/** The last numbers that were given, and the transactions that had been given one by then and were not over. */
interface Mark<Name extends string> {
  readonly numbers: Numbers<Name>;
  readonly writers: ReadonlySet<string>;
}

/**
 * How far numbered rows are visible: transactions end in another order than that in which they take their numbers. Each that takes
 * one from a sequence keeps a lock on it until its end. So a mark reads the numbers first, and then who has these locks. Transactions that
 * take no numbers, such as a long one in another database of the same server, stop nobody.
 */
export class Horizon<Name extends string> {
  readonly #query: BooksQuery;
  readonly #timers: Timers;
  readonly #selectNumbers: string;
  readonly #selectWriters: string;
  #passed: Numbers<Name>;
  /** Not passed yet. */
  #next: Mark<Name> | null = null;

  /** @param sequences by the names under which their numbers are told */
  constructor(query: BooksQuery, timers: Timers, sequences: Readonly<Record<Name, string>>) {
    const all = Object.entries<string>(sequences);
    this.#query = query;
    this.#timers = timers;
    // With the numbers between the last and the next, which are of the same transaction.
    const last = (sequence: string) => `(SELECT CASE WHEN is_called THEN last_value + (
        SELECT seqincrement - 1 FROM pg_sequence WHERE seqrelid = '${sequence}'::regclass) ELSE 0 END FROM ${sequence})`;
    this.#selectNumbers = `SELECT ${all.map(([name, sequence]) => `${last(sequence)} AS ${name}`).join(', ')}`;
    this.#selectWriters = `SELECT virtualtransaction AS id FROM pg_locks WHERE mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND relation IN (${all.map(([, sequence]) => `'${sequence}'::regclass`).join(', ')})`;
    this.#passed = Object.fromEntries(all.map(([name]) => [name, 0])) as Record<Name, number>;
  }

  /**
   * The last numbers below which no row will appear any more.
   * @param waitMs at most, for what is under way now; then those of before are told
   */
  async within(waitMs: number): Promise<Numbers<Name>> {
    return (await this.#freshWithin(waitMs)) ?? this.#passed;
  }

  /** Those that had been given when it is called, or later ones. Rejects with StoreError, `busy` where a transaction does not end. */
  async fresh(): Promise<Numbers<Name>> {
    const numbers = await this.#freshWithin(FRESH_MS);
    if (numbers) return numbers;
    throw new StoreError('a transaction at the database does not end', { reason: 'busy' });
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
