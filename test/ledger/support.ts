import type { EntryLine, Tariff } from '../../src/core/accounting/entry.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import type { Caller, KeyBudgets } from '../../src/core/people/caller.ts';
import { type KeyLines, NO_LINES } from '../../src/core/people/holder.ts';
import { type FundShortage, isShortage } from '../../src/ledger/available-funds.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { HoldRequest } from '../../src/ledger/hold-request.ts';
import { holderBudgets, holdersOf } from '../../src/ledger/holder-budgets.ts';
import { type Ledger, type LedgerTerms, openLedger } from '../../src/ledger/ledger.ts';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';

export interface Opened {
  readonly store: SqlStore;
  readonly ledger: Ledger;
  readonly alarms: { readonly message: string; readonly details: Readonly<Record<string, unknown>> }[];
  readonly alerts: { readonly name: string; readonly subject: string; readonly fraction: number }[];
}

/** Turns the budgets of keys into budgets of the ledger. */
export const keyBudgets = (keys: readonly KeyBudgets[], lines: KeyLines = NO_LINES): Budget[] =>
  holderBudgets(holdersOf(keys), lines);

/** A Friday noon, UTC. */
export const NOON = Date.UTC(2026, 10, 20, 12);

export interface OpenOptions {
  /** May wrap the store that the ledger uses. */
  readonly wrap?: (store: SqlStore) => SqlStore;
  readonly now?: () => number;
  readonly terms?: LedgerTerms;
  readonly lines?: KeyLines;
}

/** Terms without any budget. */
export const NO_TERMS: LedgerTerms = {
  budgets: [],
  ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash: 'charge' },
  usdPerCredit: '0.001',
};

/** Terms with these budgets. */
export const terms = (...budgets: Budget[]): LedgerTerms => ({ ...NO_TERMS, budgets });

/** @returns the highest ID of a hold, or 0 if there is none */
export async function lastHoldIn(store: SqlStore): Promise<number> {
  const [row] = await store.query<{ id: number | null }>({ sql: 'SELECT max(reservation) AS id FROM journal' });
  return row?.id ?? 0;
}

/** Opens a ledger on the database at `file`. */
export async function open(file: string, options: OpenOptions = {}): Promise<Opened> {
  const { wrap = (store: SqlStore) => store, now = () => NOON, terms = NO_TERMS, lines = NO_LINES } = options;
  const store = await openSqlite(file, [ledgerMigrations, accessMigrations]);
  const alarms: Opened['alarms'] = [];
  const alerts: Opened['alerts'] = [];
  const ledger = await openLedger({
    books: await openSqliteBooks({ store: wrap(store), now }),
    terms,
    now,
    lines,
    idsAbove: await lastHoldIn(store),
    onAlarm: (message, details) => alarms.push({ message, details }),
    onAlert: ({ title }, fraction) => alerts.push({ name: title.name, subject: title.subject, fraction }),
  });
  return { store, ledger, alarms, alerts };
}

export function budget(limit: number, over: Partial<Budget> = {}): Budget {
  const { match = null, each = null, window = 'month', timeZone = 'UTC' } = over;
  return {
    name: 'all',
    place: { file: 'budgets.yaml', line: 1, column: 1 },
    match,
    each,
    window,
    timeZone,
    definition: JSON.stringify([match?.toString(), each?.toString(), window, timeZone]),
    limit,
    onExhausted: 'reject',
    alertAt: [],
    ...over,
  };
}

export function caller(keyId = 'key', labels: Readonly<Record<string, string>> = {}): Caller {
  return { keyId, scopes: new Set(['chat']), labels, models: null, limits: null, budgets: [] };
}

const CALLER = caller();
let orders = idAt(NOON);

/** A request of the key `key` for one amount. IDs increase. */
export function order(amount: number, over: Partial<HoldRequest> = {}): HoldRequest {
  return {
    id: orders++,
    caller: CALLER,
    selector: 'auto',
    agentWallet: null,
    holder: null,
    amounts: [amount],
    least: null,
    limit: null,
    waitMs: 0,
    expiresAt: Number.POSITIVE_INFINITY,
    ...over,
  };
}

/** Reserves money, and throws if there is a shortage. */
export async function held(ledger: Ledger, asked: HoldRequest): Promise<Hold> {
  const reserved = await ledger.reserve(asked);
  if (isShortage(reserved)) throw new Error(`there is no room: ${JSON.stringify(reserved)}`);
  return reserved;
}

/** Tries to reserve money, and throws if there is no shortage. */
export async function refused(ledger: Ledger, asked: HoldRequest): Promise<FundShortage> {
  const reserved = await ledger.reserve(asked);
  if (!isShortage(reserved)) throw new Error('there was room');
  return reserved;
}

export const TARIFF: Tariff = { model: 'm', provider: 'p', upstream: 'u', price: '{}' };

export function line(cost: number, over: Partial<EntryLine> = {}): EntryLine {
  const units = { cached_input: 4, cache_write: 1 };
  const usage = { inputTokens: 10, outputTokens: 20, reasoningTokens: 3, units };
  return { tariff: TARIFF, usage, estimated: false, cost, ...over };
}

export interface StoredEntry {
  readonly kind: string;
  readonly reservation: number | null;
  readonly amount: number;
}

/** Returns the entries of the journal in their order. */
export async function journal(store: SqlStore): Promise<StoredEntry[]> {
  await store.flush();
  return store.query({ sql: 'SELECT kind, reservation, amount FROM journal ORDER BY seq' });
}
