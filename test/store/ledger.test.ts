import { describe } from 'bun:test';
import { openStore } from '../../src/store/open.ts';
import { layStore } from '../support/empty-store.ts';
import { MemoryBooks } from './memory/books/books.ts';
import { memoryJournal } from './memory/books/journal.ts';
import { memoryLedger } from './memory/books/ledger.ts';
import { storeInMemory } from './memory/store.ts';
import { NOON } from './suites/books.ts';
import { LEDGER_CASES, type LedgerUnderTest } from './suites/ledger.ts';
import { tempFolder, testCases } from './support.ts';

async function ledgerInSqlite(): Promise<LedgerUnderTest> {
  const folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const { ledger, journal } = store;
  return {
    ...{ store, ledger, journal, books: await store.openBooks(() => NOON) },
    async [Symbol.asyncDispose]() {
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

async function ledgerInMemory(): Promise<LedgerUnderTest> {
  const store = storeInMemory();
  const books = new MemoryBooks(store);
  return {
    ...{ store, books, ledger: memoryLedger(store, books) },
    journal: memoryJournal(books.journal, store.payments, () => books.state().usdPerCredit),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

describe('a ledger in SQLite', () => testCases(LEDGER_CASES, ledgerInSqlite));
describe('one in memory', () => testCases(LEDGER_CASES, ledgerInMemory));
