import type { OpenOptions, OpenStore, StoreDriver, StoreLock, StoreReader } from '../../../src/store/driver.ts';
import { StoreError } from '../../../src/store/store.ts';
import { memoryRepositories } from '../implementations.ts';
import { MemoryBooks } from './books/books.ts';
import { memoryJournal } from './books/journal.ts';
import { memoryLedger } from './books/ledger.ts';
import { loneInstance } from './instance.ts';
import { MemoryStore } from './store.ts';
import { memoryTraffic } from './traffic.ts';

export function openMemoryStore(
  now: () => number = Date.now,
): OpenStore & MemoryStore & { readonly books: MemoryBooks } {
  const store = new MemoryStore();
  const repositories = memoryRepositories(store);
  const books = new MemoryBooks(store);
  const journal = memoryJournal(books.journal, repositories.payments, () => books.state().usdPerCredit);
  return Object.assign(store, repositories, {
    ledger: memoryLedger(store, books),
    journal,
    traffic: memoryTraffic({ records: repositories.records, journal }),
    instance: loneInstance(now),
    books,
    openBooks: async () => books,
    rates: null,
    leaders: null,
  });
}

/** Keeps stores by their URLs until the process ends, in one version: a second driver, for tests. It has no spool, and its readers see the present. */
export class MemoryDriver implements StoreDriver {
  readonly #stores = new Map<string, OpenStore & MemoryStore>();
  readonly #locked = new Set<string>();

  async open(url: string, { now }: Partial<OpenOptions> = {}): Promise<OpenStore & MemoryStore> {
    const store = this.#stores.get(url) ?? openMemoryStore(now);
    this.#stores.set(url, store);
    return store;
  }

  async read(url: string): Promise<StoreReader> {
    const store = this.#stores.get(url);
    if (!store) throw new StoreError(`There is no store ${url}.`, { reason: 'missing' });
    return {
      ...store,
      unbooked: async () => ({ closed: [], charged: 0 }),
      close: () => {},
      [Symbol.dispose]: () => {},
    };
  }

  async exists(url: string): Promise<boolean> {
    return this.#stores.has(url);
  }

  async tables(url: string) {
    return { version: this.#stores.has(url) ? 1 : 0, known: 1, program: null, serves: 1 };
  }

  async migrate(url: string): Promise<number> {
    if (this.#stores.has(url)) return 0;
    await this.open(url);
    return 1;
  }

  async accept(): Promise<boolean> {
    return false;
  }

  async copy(): Promise<void> {
    throw new StoreError('A store in memory has no copy.');
  }

  async lock(url: string): Promise<StoreLock> {
    if (this.#locked.has(url)) throw new StoreError(`Another server is using ${url}.`, { reason: 'busy' });
    this.#locked.add(url);
    return { release: () => this.#locked.delete(url) };
  }

  async isLocked(url: string): Promise<boolean> {
    return this.#locked.has(url);
  }

  placeOf(url: string): string {
    return url;
  }

  readSpool(path: string) {
    return { path, generation: 0, entries: 0 };
  }

  settlementsIn(): number {
    return 0;
  }
}
