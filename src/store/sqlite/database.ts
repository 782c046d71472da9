import { Database, type Statement as Prepared } from 'bun:sqlite';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../core/thrown.ts';
import type { Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { GroupCommit, type GroupPace, type WriteUnit } from '../group-commit.ts';
import type { News } from '../news.ts';
import type { Repositories } from '../repositories.ts';
import type { Spool, SpooledUnit } from '../spool/spool.ts';
import { SpooledAppends } from '../spool/spooled-appends.ts';
import type { SqlParam, SqlRow, SqlValue, SqlWrite, Statement } from '../sql/statement.ts';
import type { StoreError } from '../store.ts';
import { Fault, failureOf, faultOf, unreadable } from './fault.ts';
import { FENCE_TABLE, Fence } from './fence.ts';
import { migrate, pending } from './migrate.ts';
import { NEWS_TABLE, sqliteNews } from './news.ts';
import { sqliteRepositories } from './repositories.ts';
import { runScript } from './script.ts';
import type { Migrations, SqlStore } from './statement.ts';

/**
 * A sync costs as much as several requests, so commits that arrive close together share a transaction. The process does nothing else during
 * a transaction, so one transaction may take all waiting units. A failing disk is seldom tried again.
 */
const PACE: GroupPace = {
  unitsMax: Number.POSITIVE_INFINITY,
  spacingMs: 1,
  probeMs: 1_000,
  canSkipSync: true,
  failsFast: false,
};

/** How long a command waits for another process that is writing before the command fails, ms. */
export const BUSY_TIMEOUT_MS = 2_000;

export interface SqliteOptions {
  /** A function that is called for each lost append, and once each time the disk begins to fail. */
  readonly onError?: ((error: StoreError) => void) | undefined;
  /** How long a write waits for another process, ms. The whole process is blocked during this wait. */
  readonly busyTimeoutMs?: number | undefined;
  /** Timers for delayed writes and retries; by default the timers of the process. */
  readonly timers?: Timers | undefined;
  /** Whether this handle fences off earlier handles, so that only one server writes at a time. */
  readonly fenced?: boolean;
  /**
   * Whether older tables are refused instead of migrated. Commands set this option, because a server of that older version may be using the
   * tables.
   */
  readonly asItIs?: boolean;
}

/**
 * Opens the database at `path`. A missing database or folder is created, readable only by the owner. Older tables are migrated if the
 * options allow it. The function throws an Error with one clear sentence if the database cannot be opened.
 */
export async function openSqlite(
  path: string,
  migrations: readonly Migrations[],
  options: SqliteOptions = {},
): Promise<SqliteRepositories> {
  let db: Database | null = null;
  try {
    createPrivately(path);
    db = new Database(path, { readwrite: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs ?? BUSY_TIMEOUT_MS}`);
    // The page size applies to a new file. Larger pages mean fewer system calls in a commit, but beyond 8 KiB, the larger writes cost more
    // than the saved system calls.
    db.run('PRAGMA page_size = 8192');
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = FULL');
    db.run('PRAGMA foreign_keys = ON');
    if (options.asItIs) refuseOlder(db, migrations);
    else {
      // The triggers of the other tables need the news table.
      const all = new Set([NEWS_TABLE, ...migrations]);
      migrate(db, options.fenced ? [...all, FENCE_TABLE] : [...all]);
    }
    const store = new SqliteStore(db, options, options.fenced ? new Fence(db, path) : null);
    return Object.assign(store, sqliteRepositories(store), { news: sqliteNews(store) });
  } catch (error) {
    db?.close();
    throw failureOf(`Cannot open the database ${resolve(path)}`, error);
  }
}

function refuseOlder(db: Database, migrations: readonly Migrations[]): void {
  if (pending(db, migrations).length > 0)
    throw new Fault('older', 'an older version of Signalbox wrote it; start the server once to bring it up to date');
}

/** A SQLite store with its activity figures and its spool. */
export type WatchedStore = SqlStore &
  Pick<SqliteStore, 'activity' | 'defer' | 'useSpool' | 'makeRoom' | 'spoolAs' | 'unkept' | 'fence' | 'note'>;

/** A SQLite database with its repositories but without its books. */
export type SqliteRepositories = WatchedStore & Repositories & { readonly news: News };

/** An open handle of a database. State: writes. */
class SqliteStore extends GroupCommit<SqlWrite> implements SqlStore {
  readonly #db: Database;
  readonly #appends: SpooledAppends;
  #spool: Spool | null = null;
  /** The prepared statements of the handle, by their text. */
  readonly #prepared = new Map<string, Prepared<unknown, SqlParam[]>>();
  readonly #begin: Prepared;
  readonly #end: Prepared;
  /** `#syncs`: whether commits are synced now. `#isSynced`: whether all earlier commits are on the disk. */
  #syncs = true;
  #isSynced = true;

  /** The fence; null for a command. */
  readonly fence: Fence | null;

  constructor(db: Database, { onError = () => {}, timers = processTimers }: SqliteOptions, fence: Fence | null) {
    const appends = new SpooledAppends((error, isFirst) => {
      this.errors++;
      if (isFirst) onError(error);
    });
    super(
      {
        pace: PACE,
        transact: (units, synced) => this.#transact(units, synced),
        faultOf,
        textOf: messageOf,
        onError,
        keep: (units) => appends.keep(units),
        written: (synced) => appends.written(synced),
      },
      timers,
    );
    this.#db = db;
    this.#appends = appends;
    this.fence = fence;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
  }

  get unkept(): number {
    return this.#appends.unkept;
  }

  makeRoom(reservations: number): void {
    this.#spool?.makeRoom(reservations);
  }

  /** After this call, settlements that the database refuses are kept in this spool file. The store closes the spool when it is closed. */
  spoolAs(encode: (writes: readonly SqlWrite[]) => SpooledUnit): void {
    this.#appends.encode = encode;
  }

  useSpool(spool: Spool): void {
    this.#spool = spool;
    this.#appends.spool = spool;
  }

  /**
   * Writes immediately. When this method returns, the write survives the process; after the next commit, it also survives a crash of the
   * machine. Throws the database's error.
   */
  note(write: SqlWrite): void {
    this.#transact([{ writes: [write] }], false);
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      // The caller states the type of the rows. STRICT tables guarantee the column types.
      return this.#prepare(statement).all(...params) as Row[];
    } catch (error) {
      this.errors++;
      throw unreadable(error);
    }
  }

  override async close(): Promise<void> {
    try {
      await super.close();
    } finally {
      for (const statement of [this.#begin, this.#end, ...this.#prepared.values()]) statement.finalize();
      this.#db.close();
      this.#spool?.close();
    }
  }

  #prepare({ sql }: Statement): Prepared<unknown, SqlParam[]> {
    let prepared = this.#prepared.get(sql);
    if (!prepared) {
      prepared = this.#db.prepare<unknown, SqlParam[]>(sql);
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  #transact(units: readonly WriteUnit<SqlWrite>[], synced: boolean): undefined {
    // If an earlier rollback failed, the transaction is still open and would make every later transaction fail.
    if (this.#db.inTransaction) this.#db.run('ROLLBACK');
    this.#syncCommits(synced);
    this.#begin.run();
    try {
      this.fence?.check();
      let isEmpty = true;
      for (const unit of units) {
        for (const write of unit.writes) {
          if (this.#write(write) === 0 && write.statement.mustChange)
            throw new Fault('unmet', 'its condition is not met');
          isEmpty = false;
        }
      }
      // The transaction writes a page, because an empty commit neither syncs nor notices a full disk.
      if (isEmpty && synced && (!this.#isSynced || this.isFailing))
        this.#db.run(`PRAGMA user_version = ${Date.now() & 0xffff}`);
      this.#end.run();
      this.#isSynced = synced || (isEmpty && this.#isSynced);
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** @returns the number of rows that the statement changed, or selected for its follow-up */
  #write({ statement, params, follow }: SqlWrite): number {
    const prepared = this.#prepare(statement);
    if (!follow) return prepared.run(...params).changes;
    const rows = prepared.all(...params) as SqlRow[];
    if (rows.length > 0) runScript(follow(rows), (step) => this.#prepare(step.statement));
    return rows.length;
  }

  /**
   * Sets whether the next commit is synced. A synced commit also syncs the commits before it. The PRAGMA is not a prepared statement:
   * SQLite applies it when it is compiled, so the first run of a prepared statement would do nothing, and each later run would compile it
   * again.
   */
  #syncCommits(synced: boolean): void {
    if (synced === this.#syncs) return;
    this.#db.run(`PRAGMA synchronous = ${synced ? 'FULL' : 'NORMAL'}`);
    this.#syncs = synced;
  }

  #rollback(): void {
    try {
      // After an I/O error, SQLite may already have rolled back the transaction.
      if (this.#db.inTransaction) this.#db.run('ROLLBACK');
    } catch {
      // The original error is reported, because it is more informative. The next transaction tries the rollback again.
    }
  }
}

/**
 * Creates the database file with its final mode. SQLite gives the companion files (-wal, -shm) the same mode, so the mode must be set
 * before these files exist.
 */
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // An existing database file is not opened again, because closing the file would drop the locks that this process holds on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
