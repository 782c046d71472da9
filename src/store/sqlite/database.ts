import { Database, type Statement as Prepared, SQLiteError } from 'bun:sqlite';
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { StoreActivity } from '../activity.ts';
import { reasonOf } from '../reason.ts';
import { type Migrations, type SqlValue, type Statement, type Store, StoreError, type Write } from '../store.ts';
import { GroupCommit } from './group-commit.ts';
import { migrate, pending } from './migrate.ts';
import type { Spool } from './spool.ts';

/** A store that tells how it does. */
export interface WatchedStore extends Store {
  readonly activity: StoreActivity;
  /** Puts into this file, from now on, what must outlive the process while the database refuses it. Closes it with the store. */
  useSpool(spool: Spool): void;
  /** Makes sure that the spool has room for what so many open reservations append. Throws StoreError when the disk has none. */
  makeRoom(reservations: number): void;
  /** Appends that should outlive the process, and that neither the database nor the spool has. */
  readonly unkept: number;
}

/** How long a command waits for another process that writes, before it fails. */
const BUSY_TIMEOUT_MS = 2_000;

export interface SqliteOptions {
  /** Told about appended writes that were lost, and once each time the disk starts to fail. */
  readonly onError?: (error: StoreError) => void;
  /** How long a write waits for another process, ms. Nothing else happens here meanwhile. */
  readonly busyTimeoutMs?: number;
  /** Whether only one may write like this: who opens the database after it fences it off. For the server. */
  readonly fenced?: boolean;
  /** Whether older tables are refused rather than brought up to date. For commands: a server of that version may use them. */
  readonly asItIs?: boolean;
}

/**
 * Opens the database at `path`, made with its folder when missing and readable by its owner only,
 * and brings its tables up to date if it may. Throws an Error of one clear sentence when that cannot be.
 */
export async function openSqlite(
  path: string,
  migrations: readonly Migrations[],
  options: SqliteOptions = {},
): Promise<WatchedStore> {
  let db: Database | null = null;
  try {
    createPrivately(path);
    db = new Database(path, { readwrite: true });
    db.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs ?? BUSY_TIMEOUT_MS}`);
    // Of a new file. Larger pages are fewer system calls a commit; beyond this, more is written than gained.
    db.run('PRAGMA page_size = 8192');
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = FULL');
    db.run('PRAGMA foreign_keys = ON');
    if (options.asItIs) refuseOlder(db, migrations);
    else migrate(db, options.fenced ? [...migrations, fenceMigrations] : migrations);
    return new SqliteStore(db, options.onError ?? (() => {}), options.fenced ? raiseFence(db, path) : null);
  } catch (error) {
    db?.close();
    throw new Error(`Cannot open the database ${resolve(path)}: ${reasonOf(error)}.`, { cause: error });
  }
}

function refuseOlder(db: Database, migrations: readonly Migrations[]): void {
  if (pending(db, migrations).length > 0)
    throw new Error('it is not yet of this version of Signalbox; start the server once');
}

/** A database as it is at one moment. */
export interface Reader extends Pick<Store, 'query'> {
  close(): void;
}

/**
 * Opens an existing database for reading alone, beside whoever writes it: every query sees it as it was at
 * the first. Throws an Error of one clear sentence when that cannot be, and when a newer version of the product has
 * written the tables of `known` rooms, which are those that are read.
 */
export function openReader(path: string, known: readonly Migrations[]): Reader {
  let db: Database | null = null;
  try {
    db = openReadable(path);
    db.run('BEGIN');
    // What is older is its reader's to tell: most can read some of it.
    pending(db, known);
    const open = db;
    return {
      query: async <Row>({ sql }: Statement, params: readonly SqlValue[] = []) => {
        try {
          return open.query<Row, SqlValue[]>(sql).all(...params);
        } catch (error) {
          throw new StoreError(`the database cannot be read: ${reasonOf(error)}`, error);
        }
      },
      close: () => open.close(),
    };
  } catch (error) {
    db?.close();
    throw new Error(`Cannot read the database ${resolve(path)}: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Opens a database read-only. After a crash SQLite may have to roll back a transaction first, and must write for that. */
function openReadable(path: string): Database {
  const open = (mode: 'readonly' | 'readwrite'): Database => {
    const db = new Database(path, { [mode]: true, create: false });
    try {
      db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      db.query('SELECT count(*) FROM sqlite_schema').get();
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  };
  try {
    return open('readonly');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_READONLY_'))) throw error;
    open('readwrite').close();
    return open('readonly');
  }
}

/**
 * Writes a copy of an existing database, as it is at one moment, to `target`, beside whoever uses it. The copy is
 * whole and on the disk when this returns, readable by its owner only. Throws an Error of one clear sentence
 * when that cannot be; an existing file is left alone, and what was begun is removed.
 */
export function copyDatabase(path: string, target: string): void {
  let db: Database | null = null;
  let made = false;
  try {
    // SQLite writes into an empty file, and leaves its mode as it is.
    closeSync(openSync(target, 'wx', 0o600));
    made = true;
    db = new Database(path, { readwrite: true, create: false });
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    db.run('VACUUM INTO ?', [target]);
    const copy = openSync(target, 'r');
    fsyncSync(copy);
    closeSync(copy);
  } catch (error) {
    if (made) rmSync(target, { force: true });
    throw new Error(`Cannot copy the database ${resolve(path)} to ${resolve(target)}: ${copyReason(error)}.`, {
      cause: error,
    });
  } finally {
    db?.close();
  }
}

function copyReason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'EEXIST') return 'that file exists';
  if (code === 'ENOENT') return 'there is no such folder';
  return reasonOf(error);
}

/** A server that lost its lock on the folder (a file that somebody removed) must not write beside the next one. */
const fenceMigrations: Migrations = {
  room: 'fence',
  versions: ['CREATE TABLE fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT'],
};

type Fence = () => void;

/** How often a server looks whether its file is still where it was, ms. */
const LOOK_MS = 1_000;

/**
 * Fences others off, and returns what throws once somebody else has done so, or has taken the file away. To be asked
 * within a transaction.
 */
function raiseFence(db: Database, path: string): Fence {
  const raised = db.query<{ epoch: number }, []>(
    `INSERT INTO fence (id, epoch) VALUES (1, 1) ON CONFLICT DO UPDATE SET epoch = epoch + 1 RETURNING epoch`,
  );
  const own = raised.get()?.epoch;
  const select = db.prepare<{ epoch: number }, []>('SELECT epoch FROM fence');
  const isThere = watchFile(path);
  return () => {
    if (!isThere()) throw new Fenced('its file is gone or was replaced; put it back, or stop and restore a backup');
    if (select.get()?.epoch !== own) throw new Fenced('another server has taken over this data folder; stop this one');
  };
}

/** The system lets an open file be written that has no name any more: whatever is booked there is lost with the process. */
function watchFile(path: string): () => boolean {
  const own = statSync(path);
  let lookAt = 0;
  return () => {
    if (performance.now() < lookAt) return true;
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.ino !== own.ino || found.dev !== own.dev) return false;
    lookAt = performance.now() + LOOK_MS;
    return true;
  };
}

/** No fault of the writes. */
class Fenced extends Error {}

class SqliteStore implements WatchedStore {
  readonly #db: Database;
  readonly #group: GroupCommit;
  #spool: Spool | null = null;
  readonly #prepared = new Map<Statement, Prepared<unknown, SqlValue[]>>();
  readonly #begin: Prepared;
  readonly #end: Prepared;
  readonly #version: Prepared<{ data_version: number }, []>;
  /** Whether commits are synced now, and whether all before are. */
  #syncs = true;
  #isSynced = true;

  readonly #fence: Fence | null;

  constructor(db: Database, onError: (error: StoreError) => void, fence: Fence | null) {
    this.#db = db;
    this.#fence = fence;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
    this.#version = db.prepare('PRAGMA data_version');
    this.#group = new GroupCommit({ transact: (units, synced) => this.#transact(units, synced), isOwnFault, onError });
  }

  get activity(): StoreActivity {
    return this.#group;
  }

  commit(writes: readonly Write[]): Promise<void> {
    return this.#group.commit(writes);
  }

  append(writes: readonly Write[], droppable = false): void {
    this.#group.append(writes, droppable);
  }

  written(): Promise<boolean> {
    return this.#group.written();
  }

  makeRoom(reservations: number): void {
    this.#spool?.makeRoom(reservations);
  }

  get unkept(): number {
    return this.#group.unkept;
  }

  useSpool(spool: Spool): void {
    this.#spool = spool;
    this.#group.spool = spool;
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      // The room that owns the table says what its rows are; its STRICT tables hold it to that.
      return this.#prepare(statement).all(...params) as Row[];
    } catch (error) {
      this.#group.errors++;
      throw new StoreError(`the database cannot be read: ${reasonOf(error)}`, error);
    }
  }

  async version(): Promise<number> {
    return this.#version.get()?.data_version ?? 0;
  }

  flush(): Promise<void> {
    return this.#group.flush();
  }

  async close(): Promise<void> {
    try {
      await this.#group.close();
    } finally {
      for (const statement of [this.#begin, this.#end, this.#version, ...this.#prepared.values()]) statement.finalize();
      this.#db.close();
      this.#spool?.close();
    }
  }

  #prepare(statement: Statement): Prepared<unknown, SqlValue[]> {
    let prepared = this.#prepared.get(statement);
    if (!prepared) {
      prepared = this.#db.prepare<unknown, SqlValue[]>(statement.sql);
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }

  #transact(units: readonly { readonly writes: readonly Write[] }[], synced: boolean): void {
    // A rollback that failed would make every later transaction look like the fault of its writes.
    if (this.#db.inTransaction) this.#db.run('ROLLBACK');
    this.#syncCommits(synced);
    this.#begin.run();
    try {
      this.#fence?.();
      let isEmpty = true;
      for (const unit of units) {
        for (const write of unit.writes) {
          this.#prepare(write.statement).run(...write.params);
          isEmpty = false;
        }
      }
      // A commit of nothing syncs nothing, and finds no fault with a full disk.
      if (isEmpty && synced && (!this.#isSynced || this.#group.isFailing))
        this.#db.run(`PRAGMA user_version = ${Date.now() & 0xffff}`);
      this.#end.run();
      this.#isSynced = synced || (isEmpty && this.#isSynced);
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** The log of a commit that is not synced becomes so with the next that is. */
  #syncCommits(synced: boolean): void {
    if (synced === this.#syncs) return;
    this.#db.run(`PRAGMA synchronous = ${synced ? 'FULL' : 'NORMAL'}`);
    this.#syncs = synced;
  }

  #rollback(): void {
    try {
      // After an I/O error SQLite may have rolled back by itself.
      if (this.#db.inTransaction) this.#db.run('ROLLBACK');
    } catch {
      // The error that led here says more; the next transaction tries again.
    }
  }
}

/** Results that no second try can change: the write breaks a rule of its table or does not fit its statement. */
const OWN_FAULTS = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/;

function isOwnFault(error: unknown): boolean {
  if (error instanceof Fenced) return false;
  if (!(error instanceof SQLiteError)) return true;
  return OWN_FAULTS.test(error.code ?? '');
}

/** SQLite gives its companion files (-wal, -shm) the mode of the database, so it must be right before they exist. */
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // An existing file is never opened here: closing it would drop the locks that this process holds on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
