import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenOptions, OpenStore, StoreDriver, StoreRoom } from '../driver.ts';
import { openSqliteBooks } from './books/books.ts';
import { ledgerMigrations } from './books/schema.ts';
import { copyDatabase } from './copy.ts';
import { openSqlite } from './database.ts';
import { isFolderLocked, lockFolder } from './folder-lock.ts';
import { idempotencyMigrations } from './idempotency.ts';
import { identityMigrations } from './identity.ts';
import { accessMigrations } from './keys.ts';
import { learningMigrations } from './learning/schema.ts';
import { paymentMigrations } from './payments.ts';
import { openReader } from './reader.ts';
import { recordsMigrations } from './records/schema.ts';
import { readSpool } from './spool.ts';
import type { Migrations } from './statement.ts';
import { settlementsIn, takeInSpool } from './take-in-spool.ts';

/** The tables of a store, by the room that they serve. */
const TABLES: Readonly<Record<StoreRoom, Migrations>> = {
  access: accessMigrations,
  idempotency: idempotencyMigrations,
  identity: identityMigrations,
  learning: learningMigrations,
  ledger: ledgerMigrations,
  payments: paymentMigrations,
  records: recordsMigrations,
};

/** The tables of every room, in the order in which a new store gets them. */
export const ALL_TABLES: readonly Migrations[] = Object.values(TABLES);

const tablesOf = (rooms: readonly StoreRoom[]): readonly Migrations[] => rooms.map((room) => TABLES[room]);

/** Keeps a store in one file. A URL is a path, `sqlite:PATH`, or a `file:` URL; the lock is that of its folder. */
export const sqliteDriver: StoreDriver = {
  open,
  read: async (url, rooms) => openReader(pathOf(url), tablesOf(rooms)),
  exists: async (url) => existsSync(pathOf(url)),
  copy: async (url, target) => copyDatabase(pathOf(url), target),
  lock: async (url) => lockFolder(dirname(pathOf(url))),
  isLocked: async (url) => isFolderLocked(dirname(pathOf(url))),
  readSpool: (path) => ({ path, ...readSpool(path) }),
  settlementsIn,
};

async function open(url: string, options: OpenOptions): Promise<OpenStore> {
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

function pathOf(url: string): string {
  if (/^file:/i.test(url)) return fileURLToPath(url);
  return url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
}
