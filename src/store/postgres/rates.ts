import type { InstanceName } from '../instance.ts';
import type { NewestRates, RateDemand, RateGrant, RateStore } from '../rates.ts';
import { StoreError } from '../store.ts';
import type { Connection, PostgresValue } from './connection.ts';
import { failureOf, isLoss } from './fault.ts';

const TAKE = 'SELECT rates_take_1($1, $2, $3::jsonb) AS answers';
/** Deletes the rows of full buckets: a bucket without a row is full. */
const PRUNE_BUCKETS = `DELETE FROM rates WHERE unit <> 'streams' AND at < $1
  AND units_left + ($1 - at)::numeric * most >= most * 60000`;
const PRUNE_STREAMS = `DELETE FROM rate_streams AS s USING instances AS i
  WHERE i.slot = s.slot AND (i.epoch > s.epoch OR (i.epoch = s.epoch AND (i.is_released = 1 OR i.until < $1)))`;
const PRUNE_LIMITS = `DELETE FROM rates AS r WHERE r.unit = 'streams' AND r.at < $1
  AND NOT EXISTS (SELECT 1 FROM rate_streams AS s WHERE s.name = r.name AND s.subject = r.subject)`;
/** Rows that were not used for this long are deleted if possible, ms. */
const IDLE_MS = 120_000;

/** Replaces characters that PostgreSQL cannot store. Labels from tokens may contain any character. */
const keepable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const rowOf = ({ limit, subject, unit, most, need, ahead, back, held }: RateDemand) =>
  [keepable(limit), keepable(subject), unit, most, need, ahead, back, held] as const;

/** The shared rate limits in PostgreSQL, on a connection of their own. State: shared limits. */
export class PostgresRates implements RateStore {
  readonly #open: () => Promise<Connection>;
  readonly #name: () => InstanceName;
  readonly #now: () => number;
  #connection: Promise<Connection> | null = null;

  /**
   * @param name returns the name of this instance; its streams count while its lease lasts
   * @param now returns ms since 1970, by the clock of the store
   */
  constructor(open: () => Promise<Connection>, name: () => InstanceName, now: () => number) {
    this.#open = open;
    this.#name = name;
    this.#now = now;
  }

  async take(demands: readonly RateDemand[]): Promise<readonly RateGrant[]> {
    const { slot, epoch } = this.#name();
    const values = [slot, epoch, JSON.stringify(demands.map(rowOf))];
    const [row] = await this.#run<{ answers: string }>(TAKE, values);
    const answers: readonly (readonly [number, number, number])[] = JSON.parse(row?.answers ?? '[]');
    return answers.map(([granted, ahead, left]) => ({ granted, ahead, left }));
  }

  async newest(): Promise<NewestRates> {
    const [row] = await this.#run<{ rank: number; limits: string }>(
      'SELECT rank, rate_limits AS limits FROM terms',
      [],
    );
    return { rank: row?.rank ?? 0, limits: JSON.parse(row?.limits ?? '[]') };
  }

  async prune(): Promise<void> {
    const before = Math.floor(this.#now()) - IDLE_MS;
    for (const text of [PRUNE_BUCKETS, PRUNE_STREAMS, PRUNE_LIMITS]) await this.#run(text, [before]);
  }

  async close(): Promise<void> {
    await this.#connection?.then((open) => open.close()).catch(() => {});
  }

  /**
   * Runs a statement, and sends the statement once more on a new connection if the connection was lost, because an idle connection may have
   * been lost long ago. If the first attempt succeeded, its units are lost until the bucket refills.
   * @param isAgain true for the second attempt
   */
  async #run<Row>(text: string, values: readonly PostgresValue[], isAgain = false): Promise<Row[]> {
    this.#connection ??= this.#open();
    const opening = this.#connection;
    try {
      return (await (await opening).run<Row>(text, values)).rows;
    } catch (cause) {
      if (cause instanceof StoreError || isLoss(cause)) {
        if (this.#connection === opening) this.#connection = null;
        void opening.then((lost) => lost.close()).catch(() => {});
      }
      if (isLoss(cause) && !isAgain) return await this.#run(text, values, true);
      throw cause instanceof StoreError ? cause : failureOf('the rate limits cannot be counted', cause);
    }
  }
}
