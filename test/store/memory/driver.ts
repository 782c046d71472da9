import type { OpenStore } from '../../../src/store/driver.ts';
import { MemoryBooks } from './books/books.ts';
import { memoryJournal } from './books/journal.ts';
import { memoryLedger } from './books/ledger.ts';
import { loneInstance } from './instance.ts';
import { type MemoryStore, storeInMemory } from './store.ts';
import { memoryTraffic, recordsIn } from './traffic.ts';

/** A store in memory whose books, ledger and traffic are implemented independently of SQLite. */
export function openMemoryStore(
  now: () => number = Date.now,
): OpenStore & MemoryStore & { readonly books: MemoryBooks } {
  const store = storeInMemory();
  const books = new MemoryBooks(store);
  const journal = memoryJournal(books.journal, store.payments, () => books.state().usdPerCredit);
  return Object.assign(store, {
    ledger: memoryLedger(store, books),
    journal,
    traffic: memoryTraffic({ records: () => recordsIn(store.records.log), journal }),
    instance: loneInstance(now),
    books,
    openBooks: async () => books,
    rates: null,
    leaders: null,
  });
}
