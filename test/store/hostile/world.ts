import type { FundStanding } from '../../../src/accounting/fund.ts';
import type { BooksWatcher, LedgerBooks, LedgerOp, OpResult } from '../../../src/store/books.ts';
import type { OpenStore } from '../../../src/store/driver.ts';
import type { Write } from '../../../src/store/store.ts';
import { randomFrom } from '../../deep/effort.ts';
import { openMemoryStore } from '../memory/driver.ts';
import { realClock, type WorldClock } from './clock.ts';
import { Connection, type Weather } from './connection.ts';
import { type Faults, FRIENDLY } from './faults.ts';
import { LeasedInstance, Leases } from './instance.ts';
import { newsOver } from './news.ts';
import { through } from './through.ts';

export interface WorldOptions {
  readonly seed?: number;
  readonly faults?: Faults;
  readonly clock?: WorldClock;
}

/** Operations as the one store decided them. */
export interface Deed {
  readonly handle: string;
  /** The store's time, ms since 1970. */
  readonly at: number;
  readonly ops: readonly LedgerOp[];
  readonly results: readonly OpResult[];
}

/** A store as one instance has it: with its connection, that a test may break. */
export type HostileStore = OpenStore & { readonly connection: Connection; readonly name: string };

/**
 * One store in memory, with its tables and its books, and a handle for each instance. A seed decides what goes wrong on the way.
 * What is decided is decided here, once, in the order in which it arrives.
 */
export class World implements Weather {
  readonly clock: WorldClock;
  readonly random: () => number;
  faults: Faults;
  /** The store itself, without any fault: for laws, and for a rival. */
  readonly store = openMemoryStore();
  readonly leases: Leases;
  readonly #handles = new Map<string, HostileStore>();
  readonly #watchers = new Map<string, BooksWatcher>();
  readonly #deeds: ((deed: Deed) => void)[] = [];
  #books: Promise<LedgerBooks> | null = null;

  constructor({ seed = 1, faults = FRIENDLY, clock = realClock }: WorldOptions = {}) {
    this.clock = clock;
    this.leases = new Leases(clock);
    this.random = randomFrom(seed);
    this.faults = faults;
  }

  /** Opens a handle of an instance. The name of one that has crashed may be used again. */
  open(name: string): HostileStore {
    const connection = new Connection(this);
    const { store } = this;
    const instance = new LeasedInstance(this.leases, connection, this.clock);
    connection.fence = () => !this.leases.isCurrent(instance);
    const handle = through(store, {
      read: (answer) => connection.read(answer),
      own: {
        connection,
        name,
        commit: (writes: readonly Write[]) => connection.call(() => store.commit(writes)),
        append: (writes: readonly Write[]) => connection.send(() => store.append(writes)),
        defer: (write: Write) => connection.send(() => store.defer(write)),
        written: () => connection.sent(),
        flush: async () => void (await connection.sent()),
        // Others go on with the store.
        close: async () => {
          await connection.sent();
          await instance.release();
        },
        instance,
        openBooks: () => this.#openBooks(name, connection),
        news: newsOver(store, connection, this),
      },
    });
    this.#handles.set(name, handle);
    return handle;
  }

  /** Listens to what the books decide. */
  onDeed(listener: (deed: Deed) => void): void {
    this.#deeds.push(listener);
  }

  /** The books themselves, without any fault. */
  books(): Promise<LedgerBooks> {
    this.#books ??= this.store
      .openBooks(() => this.clock.now())
      .then((books) => {
        books.watch(this.#everyWatcher());
        return books;
      });
    return this.#books;
  }

  async #openBooks(name: string, connection: Connection): Promise<LedgerBooks> {
    const books = await this.books();
    const tell = (ops: readonly LedgerOp[], results: readonly OpResult[]) => {
      const deed = { handle: name, at: this.clock.now(), ops, results };
      for (const listener of this.#deeds) listener(deed);
    };
    return through(books, {
      read: (answer) => connection.read(answer),
      own: {
        apply: (ops: readonly LedgerOp[], also?: readonly Write[]) =>
          connection.call(async () => {
            const results = await books.apply(ops, also);
            tell(ops, results);
            return results;
          }),
        append: (ops: readonly LedgerOp[], also?: readonly Write[]) => connection.send(() => books.append(ops, also)),
        written: () => connection.sent(),
        watch: (watcher: BooksWatcher) => void this.#watchers.set(name, watcher),
      },
    });
  }

  /** All instances hear of what any has changed. */
  #everyWatcher(): BooksWatcher {
    const living = () =>
      [...this.#watchers].flatMap(([name, watcher]) =>
        this.#handles.get(name)?.connection.isCrashed ? [] : [watcher],
      );
    return {
      freed: (funds: readonly FundStanding[]) => living().forEach((one) => void one.freed(funds)),
      opened: (holder) => living().forEach((one) => void one.opened(holder)),
      adjusted: () => living().forEach((one) => void one.adjusted()),
      fundsOf: (dimensions, atMs) => living()[0]?.fundsOf(dimensions, atMs) ?? [],
    };
  }
}
