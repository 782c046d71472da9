import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf } from '../../core/thrown.ts';
import type {
  OpenOptions,
  OpenStore,
  SpoolNotes,
  SpoolReport,
  StoreDriver,
  StoreRoom,
  TablesState,
} from '../driver.ts';
import { NO_INSTANCE } from '../instance.ts';
import { countSettlements, readSpool, Spool } from '../spool/spool.ts';
import { SETTLE } from '../sql/payments.ts';
import { alertMigrations } from './alerts.ts';
import { openSqliteBooks } from './books/books.ts';
import { ledgerMigrations } from './books/schema.ts';
import { closedBy, unbooked } from './books/spooled.ts';
import { cacheMigrations } from './cache.ts';
import { conversationMigrations } from './conversations.ts';
import { copyDatabase } from './copy.ts';
import { openSqlite, type WatchedStore } from './database.ts';
import { endpointMigrations } from './endpoints.ts';
import { examineFile } from './examine.ts';
import { failureOf, faultText } from './fault.ts';
import { FENCE_TABLE } from './fence.ts';
import { isFolderLocked, lockFolder } from './folder-lock.ts';
import { idempotencyMigrations } from './idempotency.ts';
import { identityMigrations } from './identity.ts';
import { instanceMigrations, openSqliteInstance } from './instance.ts';
import { accessMigrations } from './keys.ts';
import { learningMigrations } from './learning.ts';
import { loginMigrations } from './logins.ts';
import { NEWS_TABLE } from './news.ts';
import { paymentMigrations } from './payments.ts';
import { peopleMigrations } from './people.ts';
import { pushedPolicyMigrations } from './pushed-policies.ts';
import { countKnown, countVersions, openReader } from './reader.ts';
import { recordsMigrations } from './records/schema.ts';
import type { Migrations } from './statement.ts';
import { subjectMigrations } from './subjects.ts';
import { threadMigrations } from './threads.ts';
import { trafficMigrations } from './traffic/schema.ts';

/** The tables of a store, by room. */
const TABLES: Readonly<Record<StoreRoom, Migrations>> = {
  access: accessMigrations,
  alerts: alertMigrations,
  endpoints: endpointMigrations,
  idempotency: idempotencyMigrations,
  identity: identityMigrations,
  learning: learningMigrations,
  ledger: ledgerMigrations,
  // These rooms are listed after the news, because the triggers of these tables raise the news.
  logins: loginMigrations,
  news: NEWS_TABLE,
  payments: paymentMigrations,
  people: peopleMigrations,
  policies: pushedPolicyMigrations,
  records: recordsMigrations,
  // This room is listed after the tables that its first version reads.
  instances: instanceMigrations,
  threads: threadMigrations,
  conversations: conversationMigrations,
  cache: cacheMigrations,
  subjects: subjectMigrations,
  // The traffic is listed after the tables whose rows it counts.
  traffic: trafficMigrations,
};

/** The tables of all rooms, in the order in which a new store gets them. */
export const ALL_TABLES: readonly Migrations[] = Object.values(TABLES);

const tablesOf = (rooms: readonly StoreRoom[]): readonly Migrations[] => rooms.map((room) => TABLES[room]);

/**
 * A driver that keeps a store in a single SQLite file. A URL is a path, `sqlite:PATH`, or a `file:` URL. The lock is the lock of the file's
 * folder.
 */
export const sqliteDriver: StoreDriver = {
  open,
  read: async (url, rooms) => openReader(pathOf(url), tablesOf(rooms)),
  exists: async (url) => isThere(pathOf(url)),
  tables: async (url) => tablesIn(pathOf(url)),
  examine: (url, withinMs) => examineFile(pathOf(url), withinMs),
  migrate: async (url) => migrateFile(pathOf(url)),
  // SQLite needs no confirmation: the server compares the database with `ledger.id` of its folder.
  accept: async () => null,
  copy: async (url, target) => copyDatabase(pathOf(url), target),
  lock: async (url) => lockFolder(dirname(pathOf(url))),
  isLocked: async (url) => isFolderLocked(dirname(pathOf(url))),
  placeOf: (url) => resolve(pathOf(url)),
  readSpool: (path) => ({ path, ...readSpool(path) }),
  settlementsIn: (path) => countSettlements(path, (units) => closedBy(units).length),
};

async function open(url: string, options: OpenOptions): Promise<OpenStore> {
  const {
    mode,
    rooms = [],
    spool,
    spoolNotes = null,
    onSpool,
    onError,
    busyTimeoutMs,
    now = Date.now,
    timers,
  } = options;
  const isServing = mode === 'serve';
  const asked = { onError, busyTimeoutMs, timers, fenced: isServing, asItIs: mode === 'beside' };
  const db = await openSqlite(pathOf(url), isServing ? ALL_TABLES : tablesOf(rooms), asked);
  const instance = db.fence ? await openSqliteInstance(db, db.fence, now) : NO_INSTANCE;
  const openBooks = (now: () => number) => openSqliteBooks({ store: db, now, instance });
  const shut = db.close.bind(db);
  const close = () => instance.release().then(shut);
  const store = Object.assign(db, { instance, openBooks, close, rates: null, leaders: null });
  if (spool === undefined) return store;
  onSpool?.(await takeInSpool(spool, spoolNotes, db));
  return store;
}

/**
 * Books the settlements that an earlier run left in its spool, and gives the store a new spool. They are booked before the books are
 * opened, because opening the books closes all reservations that are still open. The function changes nothing if the spool is damaged or
 * belongs to another database.
 */
async function takeInSpool(path: string, notes: SpoolNotes | null, store: WatchedStore): Promise<SpoolReport> {
  const { generation, units, isTorn } = readSpool(path);
  const { writes, closed, charged } = await unbooked(store, resolve(path), units, [SETTLE]);
  if (writes.length > 0) await store.commit(writes);
  store.useSpool(Spool.create(path, generation, notes));
  return { closed, charged, isTorn };
}

/** Whether a database exists. Throws StoreError if this user may not read the database, or if a part of the path is a file. */
function isThere(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    const advice = 'Run the command as the user of the server, or name another folder with --data';
    throw failureOf(`Cannot use the data folder ${resolve(dirname(path))}`, error, `${faultText(error)}. ${advice}`);
  }
}

/**
 * The version of a store counts the versions of all rooms. A program other than the one that created the tables may know fewer versions,
 * and then cannot use the tables.
 */
function tablesIn(path: string): TablesState {
  const known = countKnown(ALL_TABLES);
  const version = isThere(path) ? countVersions(path, ALL_TABLES) : 0;
  return { version, known, program: null, serves: version, servesProgram: null };
}

async function migrateFile(path: string): Promise<number> {
  const lock = lockFolder(dirname(path));
  try {
    const before = tablesIn(path).version;
    // The fence's table is not counted as a version, but lists of servers read it, so it is created here.
    await (await openSqlite(path, [...ALL_TABLES, FENCE_TABLE])).close();
    return tablesIn(path).version - before;
  } finally {
    lock.release();
  }
}

/** Returns the path in a URL. */
export function pathOf(url: string): string {
  if (/^file:/i.test(url)) return fileURLToPath(url);
  return url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
}
