import type { BooksWatcher, LedgerBooks } from '../../src/store/books.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { type Instance, type InstanceName, isSameInstance } from '../../src/store/instance.ts';
import { sqliteRepositories } from '../../src/store/sqlite/repositories.ts';
import type { Write } from '../../src/store/store.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { memoryJournal } from '../store/memory/books/journal.ts';
import { memoryLedger } from '../store/memory/books/ledger.ts';
import { loneInstance } from '../store/memory/instance.ts';
import { MemoryStore } from '../store/memory/store.ts';

/** Books that several ledgers watch. */
class SharedBooks extends MemoryBooks {
  readonly #watchers: BooksWatcher[] = [];

  override watch(watcher: BooksWatcher): void {
    this.#watchers.push(watcher);
    super.watch({
      freed: (funds) => this.#watchers.forEach((one) => void one.freed(funds)),
      opened: (holder) => this.#watchers.forEach((one) => void one.opened(holder)),
      adjusted: () => this.#watchers.forEach((one) => void one.adjusted()),
      fundsOf: (dimensions, atMs) => this.#watchers[0]!.fundsOf(dimensions, atMs),
    });
  }
}

/** A store that counts its commits. */
class CountingStore extends MemoryStore {
  commits = 0;

  override async commit(writes: readonly Write[]): Promise<void> {
    this.commits++;
    await super.commit(writes);
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** One store in memory, with a handle for each instance. */
export class SharedWorld {
  readonly store = new CountingStore();
  readonly books = new SharedBooks(this.store);
  readonly #repositories = sqliteRepositories(this.store);
  readonly #live: InstanceName[] = [];

  /** Opens a handle for another instance. After `die`, the handle neither reads nor writes. */
  open(slot: number, now: () => number = Date.now): OpenStore & { die(): void } {
    const name = { slot, epoch: this.#live.filter((one) => one.slot === slot).length + 1 };
    this.#live.push(name);
    const lives = (other: InstanceName) => this.#live.some((one) => isSameInstance(one, other));
    const instance: Instance = { ...loneInstance(now, name), lives: async (other) => lives(other) };
    const { store, books } = this;
    const mortal = <Part extends object>(part: Part): Part =>
      new Proxy(part, {
        get: (_, key) => {
          const value: unknown = Reflect.get(part, key);
          if (typeof value !== 'function') return value;
          return (...given: unknown[]) => (lives(name) ? Reflect.apply(value, part, given) : never());
        },
      });
    const extras = {
      ...this.#repositories,
      idempotency: mortal(this.#repositories.idempotency),
      payments: mortal(this.#repositories.payments),
      ledger: memoryLedger(store, books),
      journal: memoryJournal(books.journal, this.#repositories.payments, () => books.state().usdPerCredit),
      instance,
      openBooks: async (): Promise<LedgerBooks> => mortal(books),
      rates: null,
      leaders: null,
      die: () => void this.#live.splice(this.#live.indexOf(name), 1),
    };
    const handle = mortal(store);
    return new Proxy(handle, {
      get: (_, key) => (key in extras ? Reflect.get(extras, key) : Reflect.get(handle, key)),
    }) as unknown as OpenStore & { die(): void };
  }
}
