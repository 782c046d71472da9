import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreActivity } from './activity.ts';
import type { LedgerBooks } from './books.ts';
import type { LedgerTables, Repositories } from './repositories.ts';
import { openSqliteBooks } from './sqlite/books/books.ts';
import { ledgerMigrations } from './sqlite/books/schema.ts';
import { copyDatabase } from './sqlite/copy.ts';
import { openSqlite } from './sqlite/database.ts';
import { type FolderLock, isFolderLocked, lockFolder } from './sqlite/folder-lock.ts';
import { idempotencyMigrations } from './sqlite/idempotency.ts';
import { identityMigrations } from './sqlite/identity.ts';
import { accessMigrations } from './sqlite/keys.ts';
import { learningMigrations } from './sqlite/learning/schema.ts';
import { paymentMigrations } from './sqlite/payments.ts';
import { openReader, type Reader } from './sqlite/reader.ts';
import { recordsMigrations } from './sqlite/records/schema.ts';
import { readSpool } from './sqlite/spool.ts';
import type { Migrations } from './sqlite/statement.ts';
import { type SpoolReport, settlementsIn, takeInSpool } from './sqlite/take-in-spool.ts';
import { type Store, StoreError } from './store.ts';

export { readSpool, type SpoolReport, settlementsIn };

/** The tables of a store, by the room that they serve. */
const TABLES = {
  access: accessMigrations,
  idempotency: idempotencyMigrations,
  identity: identityMigrations,
  learning: learningMigrations,
  ledger: ledgerMigrations,
  payments: paymentMigrations,
  records: recordsMigrations,
} as const satisfies Record<string, Migrations>;

/** A room whose tables a store has. */
export type StoreRoom = keyof typeof TABLES;

/** The tables of every room, in the order in which a new store gets them. */
export const ALL_TABLES: readonly Migrations[] = Object.values(TABLES);

const tablesOf = (rooms: readonly StoreRoom[]): readonly Migrations[] => rooms.map((room) => TABLES[room]);

/** A store with its repositories. */
export interface OpenStore extends Store, Repositories, LedgerTables {
  readonly activity: StoreActivity;
  /** Appends that should outlive the process, and that neither the store nor its spool has. */
  readonly unkept: number;
  /**
   * Opens the books for this one process.
   * @param now ms since 1970
   * @throws an Error of one clear sentence, by rejecting, when they are damaged.
   */
  openBooks(now: () => number): Promise<LedgerBooks>;
}
/** A store at one moment. Its repositories read alone. */
export type StoreReader = Omit<Reader, 'query'>;
export type StoreLock = FolderLock;

export interface OpenOptions {
  /**
   * `serve`: for the server. Brings all tables up to date, and fences off a server that has the store open.
   * `repair`: for a command that holds the lock of the store. Brings the tables of `rooms` up to date.
   * `beside`: for a command beside a server. Refuses tables of `rooms` that are not of this version.
   */
  readonly mode: 'serve' | 'repair' | 'beside';
  /** The rooms whose tables are used; all in the mode `serve`. */
  readonly rooms?: readonly StoreRoom[];
  /** Called with appended writes that were lost, and once each time the disk starts to fail. */
  readonly onError?: (error: StoreError) => void;
  /** In the mode `serve`: a file beside the store that takes settlements while the store refuses them. */
  readonly spool?: string;
  /** Called once with the settlements that were booked from the spool of an earlier run. */
  readonly onSpool?: (report: SpoolReport) => void;
  /** How long a write waits for another process, ms. Nothing else happens in this process meanwhile. */
  readonly busyTimeoutMs?: number;
}

/**
 * Opens a store for writing, made when missing.
 * @param url the path of a SQLite database, or `sqlite:PATH`, or a `file:` URL.
 * @throws StoreError of one clear sentence; its reason is `newer` or `older` for tables of another version.
 */
export async function openStore(url: string, options: OpenOptions): Promise<OpenStore> {
  const { mode, rooms = [], spool, onSpool, onError, busyTimeoutMs } = options;
  const isServing = mode === 'serve';
  const asked = { onError, busyTimeoutMs, fenced: isServing, asItIs: mode === 'beside' };
  const db = await openSqlite(pathOf(url), isServing ? ALL_TABLES : tablesOf(rooms), asked);
  const makeRoom = (reservations: number) => db.makeRoom(reservations);
  const store = Object.assign(db, { openBooks: (now: () => number) => openSqliteBooks({ store: db, now, makeRoom }) });
  if (spool === undefined) return store;
  onSpool?.(await takeInSpool(spool, db));
  return store;
}

/**
 * Opens an existing store for reading, beside any server: all that is read is of one moment.
 * @param rooms those whose tables are read; refused where a newer version of Signalbox wrote them.
 * @throws StoreError of one clear sentence.
 */
export const readStore = (url: string, rooms: readonly StoreRoom[]): StoreReader =>
  openReader(pathOf(url), tablesOf(rooms));

/**
 * Copies an existing store to a file as it is at one moment, beside any server.
 * @throws StoreError of one clear sentence; an existing file is left alone.
 */
export const copyStore = (url: string, target: string): void => copyDatabase(pathOf(url), target);

/**
 * Takes the folder of a store for this process, until `release` or its end.
 * @throws StoreError of one clear sentence; its reason is `busy` where another process has it.
 */
export const lockStore = (url: string): StoreLock => lockFolder(dirname(pathOf(url)));

/** Returns whether another process, such as a server, has the folder of a store. */
export const isStoreLocked = (url: string): boolean => isFolderLocked(dirname(pathOf(url)));

/** @throws StoreError for a URL of another kind of database. Only its scheme is shown: it may have a password. */
function pathOf(url: string): string {
  if (url.startsWith('file:')) return fileURLToPath(url);
  if (url.startsWith('sqlite:')) return url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(url)?.[1];
  if (scheme === undefined) return url;
  throw new StoreError(
    `There is no store for ${scheme} URLs: name the path of a SQLite database, as sqlite:/var/lib/signalbox/signalbox.db.`,
  );
}
