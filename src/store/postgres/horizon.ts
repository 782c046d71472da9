import { pause, type Timers } from '../../core/timers.ts';
import type { BooksQuery } from './books/names.ts';

/** Between two looks at which transactions are over, ms. */
const LOOK_MS = 5;

/** The sequences that number rows in the order of their arrival, and all transactions in which a number up to these was given. */
interface Mark<Name extends string> {
  readonly numbers: Readonly<Record<Name, number>>;
  /** They are all older than this transaction. */
  readonly xid: string;
}

/**
 * How far numbered rows are visible: transactions end in another order than that in which they take their numbers. Each has an ID before
 * it takes one: a mark reads the numbers first, and then takes an ID itself, which is above all of those. A snapshot alone would not
 * tell: transactions that are above the last one that has ended are in none.
 */
export class Horizon<Name extends string> {
  readonly #query: BooksQuery;
  readonly #timers: Timers;
  readonly #numbers: string;
  #passed: Readonly<Record<Name, number>>;
  /** Not passed yet. */
  #next: Mark<Name> | null = null;

  /** @param sequences by the names under which their numbers are told */
  constructor(query: BooksQuery, timers: Timers, sequences: Readonly<Record<Name, string>>) {
    const all = Object.entries<string>(sequences);
    this.#query = query;
    this.#timers = timers;
    this.#numbers = `SELECT ${all.map(([name, sequence]) => `(SELECT last_value FROM ${sequence}) AS ${name}`).join(', ')}`;
    this.#passed = Object.fromEntries(all.map(([name]) => [name, 0])) as Record<Name, number>;
  }

  /**
   * The last numbers below which no row will appear any more.
   * @param waitMs at most, for what is under way now; then those of before are told
   */
  async within(waitMs: number): Promise<Readonly<Record<Name, number>>> {
    for (let left = waitMs; ; ) {
      const isNew = this.#next === null;
      this.#next ??= await this.#mark();
      const mark = this.#next;
      if (await this.#isPast(mark)) {
        this.#passed = mark.numbers;
        this.#next = null;
        if (isNew) return mark.numbers;
      } else if (left <= 0) return this.#passed;
      else {
        await pause(this.#timers, LOOK_MS);
        left -= LOOK_MS;
      }
    }
  }

  async #mark(): Promise<Mark<Name>> {
    const [numbers] = await this.#query<Record<Name, number>>(this.#numbers, []);
    const [row] = await this.#query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid', []);
    return { numbers: numbers!, xid: row!.xid };
  }

  async #isPast({ xid }: Mark<Name>): Promise<boolean> {
    const [row] = await this.#query<{ is_past: number }>(
      'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS is_past',
      [xid],
    );
    return row?.is_past === 1;
  }
}
