import type { BooksWatcher, LedgerBooks, LedgerOp, OpResult } from '../../../src/store/books.ts';
import type { OpenStore } from '../../../src/store/driver.ts';
import { type Instance, nameOf } from '../../../src/store/instance.ts';
import type { LeaderJob } from '../../../src/store/leaders.ts';
import { LEASE_MS } from '../../../src/store/lease.ts';
import type { RateDemand } from '../../../src/store/rates.ts';
import type { Write } from '../../../src/store/store.ts';
import { randomFrom } from '../../deep/effort.ts';
import type { MemoryBooks } from '../memory/books/books.ts';
import { booksOf } from '../memory/books/handle.ts';
import { openMemoryStore } from '../memory/driver.ts';
import { MemoryLeaders } from '../memory/leaders.ts';
import { MemoryRates } from '../memory/rates.ts';
import { realClock, type WorldClock } from './clock.ts';
import { Connection, type Weather } from './connection.ts';
import { type Faults, FRIENDLY } from './faults.ts';
import { leasedOver, WorldLeases } from './leases.ts';
import { newsOver } from './news.ts';
import { through } from './through.ts';

export interface WorldOptions {
  readonly seed?: number;
  readonly faults?: Faults;
  readonly clock?: WorldClock;
}

/** A batch of operations that the store has decided. */
export interface Deed {
  readonly handle: string;
  /** The store's time, ms since 1970. */
  readonly at: number;
  readonly ops: readonly LedgerOp[];
  readonly results: readonly OpResult[];
}

/** A store as one instance sees it, with a connection that a test can break. */
export type HostileStore = OpenStore & { readonly connection: Connection; readonly name: string };

/**
 * One store in memory with its tables and books, and a handle for each instance. A seed decides which faults happen on the connections. The
 * world decides each operation once, in the order in which the operations arrive.
 */
export class World implements Weather {
  readonly clock: WorldClock;
  readonly random: () => number;
  faults: Faults;
  /** The store itself, without faults, for laws and for a rival. */
  readonly store = openMemoryStore();
  readonly leases: WorldLeases;
  /** The rate limits that the instances share. */
  rates: MemoryRates;
  readonly leaders: MemoryLeaders;
  readonly #deeds: ((deed: Deed) => void)[] = [];

  constructor({ seed = 1, faults = FRIENDLY, clock = realClock }: WorldOptions = {}) {
    this.clock = clock;
    this.leases = new WorldLeases(() => clock.now());
    const accepts = this.leases.accepts.bind(this.leases);
    this.rates = new MemoryRates(clock.now.bind(clock), accepts);
    this.leaders = new MemoryLeaders(this.store, clock.now.bind(clock), accepts);
    const present = async () => this.leases.held.map((row) => ({ ...nameOf(row), renewed: row.until - LEASE_MS }));
    Object.assign(this.store.instanceReports, { present });
    this.books.journal.isOvertaken = () => this.random() < this.faults.outOfOrder;
    this.random = randomFrom(seed);
    this.faults = faults;
  }

  /** Opens a handle for an instance. The name of a crashed instance may be used again. */
  async open(name: string): Promise<HostileStore> {
    const connection = new Connection(this);
    const { store } = this;
    const instance = await leasedOver(this.leases, connection, this.clock);
    return through(store, {
      read: (answer) => connection.read(answer),
      own: {
        connection,
        name,
        commit: (writes: readonly Write[]) => connection.call(() => store.commit(writes)),
        append: (writes: readonly Write[]) => connection.send(() => store.append(writes)),
        defer: (write: Write) => connection.send(() => store.defer(write)),
        written: () => connection.sent(),
        flush: async () => void (await connection.sent()),
        // Does not close the store, because other instances use it.
        close: async () => {
          await connection.sent();
          await instance.release();
        },
        instance,
        openBooks: async () => this.#openBooks(instance, connection, name),
        news: newsOver(store, connection, this),
        leaders: {
          take: () => connection.call(async () => this.leaders.take(nameOf(instance))),
          require: (job: LeaderJob) => this.leaders.require(instance, job),
        },
        rates: {
          take: (demands: readonly RateDemand[]) =>
            connection.call(async () => this.rates.take(nameOf(instance), demands)),
          newest: () =>
            connection.call(async () => {
              const { rank, rateLimits: limits } = this.books.terms;
              return { rank, limits };
            }),
          prune: () => connection.call(async () => this.rates.prune()),
        },
      },
    });
  }

  /** Adds a listener for what the books decide. */
  onDeed(listener: (deed: Deed) => void): void {
    this.#deeds.push(listener);
  }

  /** The books themselves, without faults. */
  get books(): MemoryBooks {
    return this.store.books;
  }

  #openBooks(instance: Instance, connection: Connection, name: string): LedgerBooks {
    const { books, leases } = this;
    const own = booksOf(books, instance, {});
    const tell = (ops: readonly LedgerOp[], results: readonly OpResult[]) => {
      const deed = { handle: name, at: this.clock.now(), ops, results };
      for (const listener of this.#deeds) listener(deed);
    };
    return through(own, {
      read: (answer) => connection.read(answer),
      own: {
        apply: (ops: readonly LedgerOp[], also?: readonly Write[]) =>
          connection.call(async () => {
            const results = await own.apply(ops, also);
            tell(ops, results);
            return results;
          }),
        append: (...[ops, follow]: Parameters<LedgerBooks['append']>) =>
          connection.ask(async () => {
            const results = await own.append(ops, follow);
            tell(ops, results);
            return results;
          }),
        written: () => connection.sent(),
        watch: (watcher: BooksWatcher) => books.watch(heardBy(connection, watcher)),
        orphans: () => {
          for (const dead of leases.dead) books.died(dead);
          return connection.read(books.orphans(this.clock.now()));
        },
      },
    });
  }
}

/** Returns a watcher that receives nothing once its process has crashed. */
const heardBy = (connection: Connection, watcher: BooksWatcher): BooksWatcher => ({
  freed: (funds) => void (connection.isCrashed || watcher.freed(funds)),
  opened: (holder) => void (connection.isCrashed || watcher.opened(holder)),
  adjusted: () => void (connection.isCrashed || watcher.adjusted()),
  fundsOf: (dimensions, atMs) => watcher.fundsOf(dimensions, atMs),
});
