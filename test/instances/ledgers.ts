import { setImmediate } from 'node:timers/promises';
import type { Budget } from '../../src/core/money/budget.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { isShortage } from '../../src/ledger/available-funds.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { HoldRequest } from '../../src/ledger/hold-request.ts';
import { type Ledger, type LedgerTerms, openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { line, NOON, order, terms } from '../ledger/support.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { booksOf } from '../store/memory/books/handle.ts';
import { memoryJournal } from '../store/memory/books/journal.ts';
import { storeInMemory } from '../store/memory/store.ts';

/** Books in memory that several ledgers share. */
export function sharedBooks() {
  const store = storeInMemory();
  const books = new MemoryBooks(store);
  return { store, books, journal: memoryJournal(books.journal, store.payments, () => null) };
}
export type SharedBooks = ReturnType<typeof sharedBooks>;

/** Opens a ledger on shared books, as a server does. */
export const ledgerOn = (
  { books }: { readonly books: LedgerBooks },
  policy: LedgerTerms,
  now: () => number = () => NOON,
): Promise<Ledger> => openLedger({ books, terms: policy, now, onAlarm: () => {} });

/** Makes the books read uncounted charges with a query that callers must await, as over a network. */
export function remote({ books }: SharedBooks): { readonly books: LedgerBooks } {
  const uncounted: LedgerBooks['uncounted'] = async (...asked) => {
    const found = books.uncounted(...asked);
    await setImmediate();
    return found;
  };
  return { books: booksOf(books, { slot: 2, epoch: 1 }, { uncounted }) };
}

export async function swap(ledger: Ledger, ...budgets: Budget[]): Promise<void> {
  (await ledger.prepare(terms(...budgets)))();
}

/**
 * Holds an amount.
 * @returns null if there is not enough money
 */
export async function holdOn(ledger: Ledger, amount: number, over: Partial<HoldRequest> = {}): Promise<Hold | null> {
  const hold = await ledger.reserve(order(amount, over));
  return isShortage(hold) ? null : hold;
}

/**
 * Spends an amount.
 * @returns what was charged; 0 if there was not enough money
 */
export async function spend(ledger: Ledger, amount: number, over: Partial<HoldRequest> = {}): Promise<number> {
  const hold = await holdOn(ledger, amount, over);
  const settled = await hold?.settle(line(amount), () => []);
  return settled?.charged ?? 0;
}

/** The limit, spent and held amount of each budget that was drawn on, by name and subject. */
export async function figuresOf(ledger: Ledger): Promise<Record<string, readonly number[]>> {
  const { funds } = await ledger.status();
  return Object.fromEntries(
    funds.map(({ title, limit, spent, held }) => [`${title.name}/${title.subject}`, [limit, spent, held]]),
  );
}

export const findingsIn = async ({ journal }: Pick<SharedBooks, 'journal'>): Promise<string[]> =>
  (await auditLedger(journal, { idle: true })).findings.map(({ message }) => message);
