import { expect } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import type { LedgerBooks } from '../../../../src/store/books.ts';
import { type InstanceName, isSameInstance as isSame } from '../../../../src/store/instance.ts';
import type { LeaseTable } from '../../../../src/store/lease-keeper.ts';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { openPostgresBooks, type PostgresBooks } from '../../../../src/store/postgres/books/books.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { postgresLeaders } from '../../../../src/store/postgres/leaders.ts';
import { fenceOf, postgresLeases } from '../../../../src/store/postgres/leases.ts';
import { PostgresRates } from '../../../../src/store/postgres/rates.ts';
import { postgresRepositories } from '../../../../src/store/postgres/repositories.ts';
import { PostgresStore } from '../../../../src/store/postgres/store.ts';
import type { Repositories } from '../../../../src/store/repositories.ts';
import type { SqlWrite } from '../../../../src/store/sql/statement.ts';
import { emptiedBy } from '../../../store/postgres/opened.ts';
import { contentOf } from '../../../store/repository-law.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';
import { type Arrival, answerOf, type Play, type Riders, reasonOf, tablesOf } from './play.ts';
import { bytes, madeBy } from './steps.ts';

/** SQL for a database whose clock follows a world: this schema comes before the system's. */
const MOVED = `CREATE SCHEMA moved; CREATE TABLE moved.clock (ms bigint NOT NULL); INSERT INTO moved.clock VALUES (0);
  CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$
    SELECT to_timestamp(0) + ms * interval '1 millisecond' FROM moved.clock $$`;
/** Processes that have the books open, each with its own memory. */
const PROCESSES = 4;
const timers = { ...processTimers, every: () => ({ unref: () => {}, close: () => {} }) };

/** Creates a database whose time follows worlds. */
export async function movedDatabase() {
  const database = await laidDatabase();
  const { url } = database;
  await database.run(MOVED);
  await database.run(`ALTER DATABASE ${database.name} SET search_path = moved, pg_catalog, public`);
  let connection: Connection | null = null;
  let script = '';
  return {
    /** Compares the answers and the final data of a world with those of the database. */
    async compare(play: Play): Promise<void> {
      const own = connection ?? (await Connection.open(addressOf(url)));
      // A failure may leave the database in the middle of a call, so the next history starts with a new one.
      connection = null;
      try {
        script ||= await emptiedBy(own);
        await own.script(`${script};\nSET session_replication_role = DEFAULT`);
        await new Replay(own, play).run();
        connection = own;
      } finally {
        if (!connection) await own.close();
      }
    },
    async [Symbol.asyncDispose]() {
      await connection?.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** The instances of a history on one database. The side replays the calls in their order, on a single connection. */
class Replay {
  readonly #connection: Connection;
  readonly #open: () => Promise<Connection>;
  readonly #play: Play;
  #store: PostgresStore;
  readonly #beside: PostgresStore;
  readonly #tables;
  readonly #books: {
    readonly books: PostgresBooks;
    readonly instance: { slot: number; epoch: number };
    isRefused: boolean;
  }[] = [];
  #now = 0;

  constructor(connection: Connection, play: Play) {
    this.#connection = connection;
    this.#play = play;
    this.#open = async () => connection;
    this.#store = this.#newStore();
    this.#beside = this.#newStore();
    this.#tables = postgresRepositories(this.#beside, processTimers);
  }

  async run(): Promise<void> {
    await this.#openBooks();
    await this.#arrive();
    await this.#end();
  }

  #newStore(): PostgresStore {
    return new PostgresStore(this.#open, { url: '', timers });
  }

  async #openBooks(): Promise<void> {
    for (let at = 0; at < PROCESSES; at++) {
      const instance = { slot: 0, epoch: 0 };
      const db = this.#beside.deciding();
      const books = await openPostgresBooks({ db, timers, clock: () => performance.now(), instance });
      const fundsOf = ({ holder }: { holder?: string }) => this.#play.fundsOf(holder);
      books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf });
      this.#books.push({ books, instance, isRefused: false });
    }
  }

  async #arrive(): Promise<void> {
    const { arrivals } = this.#play;
    for (let at = 0; at < arrivals.length; ) {
      const group = arrivals.slice(at, this.#endOf(at));
      this.#moveClock(group[0]!.at);
      const found = await Promise.all(group.map((one) => this.#answer(one)));
      for (const [nth, one] of group.entries())
        if (!Bun.deepEquals(found[nth], one.answer)) {
          const { answer, at: ms, ...asked } = one;
          expect({ place: at + nth, ms, ...asked, answer: found[nth] }).toEqual({
            place: at + nth,
            ms,
            ...asked,
            answer,
          });
        }
      at += group.length;
    }
  }

  /**
   * Returns the end of the calls that may be sent at once: operations of one instance on one thing, and leases. A correction first reads
   * the entry that it corrects.
   */
  #endOf(at: number): number {
    const { arrivals } = this.#play;
    const first = arrivals[at]!;
    const isAlike = (one: Arrival | undefined) => {
      if (one?.what !== first.what) return false;
      if (one.what === 'lease') return true;
      return (
        'on' in one &&
        'on' in first &&
        one.on === first.on &&
        one.at === first.at &&
        one.also === null &&
        first.also === null &&
        isSame(one.by, first.by) &&
        one.answer !== 'fenced' &&
        first.answer !== 'fenced' &&
        !isCorrection(one) &&
        !isCorrection(first)
      );
    };
    let end = at + 1;
    if ('on' in first && this.#books[first.on % PROCESSES]!.isRefused) return end;
    while (isAlike(arrivals[end])) end++;
    return end;
  }

  #moveClock(ms: number): void {
    if (ms === this.#now) return;
    this.#now = ms;
    void this.#connection.run('UPDATE moved.clock SET ms = $1', [ms]);
  }

  async #answer(arrival: Arrival): Promise<unknown> {
    const { by } = arrival;
    switch (arrival.what) {
      case 'apply':
      case 'append': {
        const process = this.#books[arrival.on % PROCESSES]!;
        const { books, instance } = process;
        Object.assign(instance, by);
        const { ops, also } = arrival;
        const results = arrival.what === 'apply' ? books.apply(ops, also ? this.#made(also) : []) : books.append(ops);
        const answer = await answerOf(ops, results);
        // Books that were refused retry their calls one by one until they succeed, so they do not settle at once.
        process.isRefused = answer === 'fenced';
        if (process.isRefused) await setImmediate();
        return answer;
      }
      case 'commit': {
        this.#store.fence = fenceOf(by);
        const refusal = await this.#store.commit(this.#made(arrival.writes)).then(() => null, reasonOf);
        // A refused writer retries by itself until it succeeds.
        if (refusal === 'fenced') this.#store = this.#newStore();
        return refusal;
      }
      case 'rates':
        return this.#ratesOf(by).take(arrival.demands);
      case 'lead':
        return (await postgresLeaders(this.#beside, () => by).take()).toSorted();
      case 'orphans': {
        const { books, instance } = this.#books[0]!;
        Object.assign(instance, by);
        return books.orphans();
      }
      case 'lease':
        return postgresLeases(this.#beside).write(arrival.change);
      case 'revoke':
        await this.#connection.run('UPDATE instances SET until = $1 WHERE slot = $2', [arrival.until, arrival.slot]);
        return null;
    }
  }

  #made({ makers, owner }: Riders) {
    const leaders = postgresLeaders(this.#beside, () => owner);
    return madeBy(makers, { ...tablesOf(this.#tables), leaders }, owner) as readonly SqlWrite[];
  }

  #ratesOf(by: InstanceName): PostgresRates {
    return new PostgresRates(
      this.#open,
      () => by,
      () => this.#now,
    );
  }

  /** Returns all readable data. */
  async #end(): Promise<void> {
    const { world, clock, things } = this.#play;
    this.#moveClock(clock.now());
    const { books } = this.#books[0]!;
    for (const one of this.#books) one.books.close();
    const rows = await this.#connection.run<{
      name: string;
      budget: number;
      most: number;
      spent: number;
      held: number;
    }>('SELECT name, budget, most, spent, held FROM funds');
    const figures = new Map(rows.rows.map(({ name, budget, ...all }) => [budget === 0 ? name : `${budget}`, all]));
    const figuresOf = (ref: FundRef) => figures.get(ref.budget === 0 ? ref.title.name : `${ref.budget}`);
    const funds = things.flatMap((one) => one.funds);
    const known = funds.filter((ref) => figuresOf(ref) !== undefined);
    const leases = postgresLeases(this.#beside);
    const found = await readAll(this.#tables, books, this.#play, leases);
    const right = await readAll(world.store, world.books, this.#play, world.leases);
    for (const [part, of] of Object.entries(right)) expect([part, Reflect.get(found, part)]).toEqual([part, of]);
    expect(known.map(figuresOf)).toEqual(
      world.books.standing(known).map(({ limit: most, spent, held }) => ({ most, spent, held })),
    );
    expect(await this.#tables.journal.damages()).toEqual([]);
  }
}

const isCorrection = (one: Arrival): boolean => 'ops' in one && one.ops.some(({ kind }) => kind === 'correct');

type Tables = Parameters<typeof tablesOf>[0] & Pick<Repositories, 'ledger' | 'journal'>;

async function readAll(tables: Tables, books: LedgerBooks, { things }: Play, leases: LeaseTable) {
  const ids = things.flatMap((one) => one.ids);
  const journal: unknown[] = [];
  // Attaching to a fund again needs no entry.
  for await (const page of tables.journal.rows())
    for (const { kind, reservation, amount, time, keyId, payer } of page)
      if (kind !== 'attach') journal.push([kind, reservation, amount, time, keyId, payer]);
  const owners = await tables.idempotency.owners();
  const { keys, ...content } = await contentOf(tables);
  return {
    content: { ...content, keys: keys.map(({ version: _, ...key }) => key) },
    // A single statement gives several keys their versions in no fixed order, so only the last version is known.
    versions: new Set(keys.map(({ version }) => version)).size,
    lastVersion: Math.max(0, ...keys.map(({ version }) => version)),
    owners: owners.toSorted((a, b) => a.slot - b.slot || a.epoch - b.epoch),
    names: await Promise.all([0, 1].map((name) => tables.idempotency.find(bytes(name)))),
    balances: await tables.ledger.balances(),
    charged: await books.charged(),
    holds: await Promise.all(
      ids.map(async (id) => {
        const found = await books.reservation(id);
        return found && [found.isOpen, found.charged, found.givenBack];
      }),
    ),
    journal,
    leases: (await leases.read()).rows.toSorted((a, b) => a.slot - b.slot),
  };
}
