import type { EntryLine } from '../../src/ledger/hold.ts';
import { type Ledger, type Order, openLedger } from '../../src/ledger/ledger.ts';
import { ledgerMigrations } from '../../src/ledger/tables.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { type Store, StoreError } from '../../src/store/store.ts';

export interface Opened {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly alarms: { readonly message: string; readonly details: Readonly<Record<string, unknown>> }[];
}

/** A ledger on the database at `file`; `wrap` may put something between it and the store. */
export async function open(file: string, wrap: (store: Store) => Store = (store) => store): Promise<Opened> {
  const store = await openSqlite(file, [ledgerMigrations]);
  const alarms: Opened['alarms'] = [];
  const ledger = await openLedger({
    store: wrap(store),
    now: () => 1_000,
    onAlarm: (message, details) => alarms.push({ message, details }),
  });
  return { store, ledger, alarms };
}

let orders = 1_000;

export function order(amount: number, over: Partial<Order> = {}): Order {
  return { id: orders++, keyId: 'key', selector: 'auto', labels: {}, amount, limit: null, ...over };
}

export function line(cost: number, over: Partial<EntryLine> = {}): EntryLine {
  const usage = { inputTokens: 10, cachedInputTokens: 4, cacheWriteTokens: 1, outputTokens: 20, reasoningTokens: 3 };
  return { model: 'm', provider: 'p', upstream: 'u', usage, estimated: false, cost, price: '{}', ...over };
}

/** A store whose commits fail while `fails` says so. */
export function flaky(store: Store, fails: () => boolean): Store {
  return {
    commit: (writes) => (fails() ? Promise.reject(new StoreError('disk full')) : store.commit(writes)),
    append: (writes) => store.append(writes),
    query: (statement, params) => store.query(statement, params),
    version: () => store.version(),
    flush: () => store.flush(),
    close: () => store.close(),
  };
}

export interface StoredReservation {
  readonly id: number;
  readonly amount: number;
  readonly charged: number;
  readonly state: string;
  readonly closed: number | null;
}
export interface StoredEntry {
  readonly reservation_id: number;
  readonly kind: string;
  readonly microcredits: number;
  readonly excess: number;
}

export async function reservations(store: Store): Promise<StoredReservation[]> {
  return store.query({ sql: 'SELECT id, amount, charged, state, closed FROM reservations ORDER BY id' });
}

export async function entries(store: Store): Promise<StoredEntry[]> {
  return store.query({ sql: 'SELECT reservation_id, kind, microcredits, excess FROM entries ORDER BY id' });
}
