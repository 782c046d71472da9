import { describe, test } from 'bun:test';
import { openStore } from '../../src/store/open.ts';
import { postgresRepositories } from '../../src/store/postgres/repositories.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { layStore } from '../support/empty-store.ts';
import { memoryRepositories } from './implementations.ts';
import { MemoryBooks } from './memory/books/books.ts';
import { memoryJournal } from './memory/books/journal.ts';
import { memoryLedger } from './memory/books/ledger.ts';
import { MemoryStore } from './memory/store.ts';
import { emptyLedger, openBooksOn } from './postgres/stage.ts';
import { NOON } from './suites/books.ts';
import { LEDGER_CASES, type LedgerUnderTest } from './suites/ledger.ts';
import { tempFolder } from './support.ts';

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
  const store = new MemoryStore();
  const books = new MemoryBooks(store);
  const { payments } = memoryRepositories(store);
  return {
    ...{ store, books, ledger: memoryLedger(store, books) },
    journal: memoryJournal(books.journal, payments, () => books.state().usdPerCredit),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

async function ledgerInPostgres(): Promise<LedgerUnderTest> {
  const stage = await emptyLedger();
  const { store } = stage;
  const { books, close } = await openBooksOn(stage);
  return {
    ...{ store, books, ...postgresRepositories(store, processTimers) },
    async [Symbol.asyncDispose]() {
      await close();
      await stage[Symbol.asyncDispose]();
    },
  };
}

const LEDGERS = {
  'a ledger in SQLite': ledgerInSqlite,
  'one in memory': ledgerInMemory,
  'one in PostgreSQL': ledgerInPostgres,
};

for (const [name, open] of Object.entries(LEDGERS)) {
  describe(name, () => {
    for (const [guarantee, run] of Object.entries(LEDGER_CASES)) {
      test(guarantee, async () => {
        await using box = await open();
        await run(box);
      });
    }
  });
}
