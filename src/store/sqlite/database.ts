import { Database, type Statement as Prepared } from 'bun:sqlite';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../core/thrown.ts';
import type { Timers } from '../../core/timers.ts';
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
 * A sync costs as much as several requests, so commits that come densely wait for each other. Nothing else happens during a
 * transaction: it may take all, and a disk that fails is seldom tried for its own sake.
 */
const PACE: GroupPace = {
  unitsMax: Number.POSITIVE_INFINITY,
  spacingMs: 1,
  probeMs: 1_000,
  canSkipSync: true,
  failsFast: false,
};

/** How long a command waits for another process that writes, before it fails, ms. */
export const BUSY_TIMEOUT_MS = 2_000;

export interface SqliteOptions {
  /** Called with appended writes that were lost, and once each time the disk starts to fail. */
  readonly onError?: ((error: StoreError) => void) | undefined;
  /** How long a write waits for another process, ms. Nothing else happens here meanwhile. */
  readonly busyTimeoutMs?: number | undefined;
  /** Sets writes behind and retries; the process's own unless stated. */
  readonly timers?: Timers | undefined;
  /** Whether this handle fences earlier ones off, so that one server writes at a time. */
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
): Promise<SqliteRepositories> {
  let db: Database | null = null;
  try {
    createPrivately(path);
    db = new Database(path, { readwrite: true, strict: true });
    db.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs ?? BUSY_TIMEOUT_MS}`);
    // Of a new file. Larger pages are fewer system calls a commit; beyond this, more is written than gained.
    db.run('PRAGMA page_size = 8192');
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = FULL');
    db.run('PRAGMA foreign_keys = ON');
    if (options.asItIs) refuseOlder(db, migrations);
    else {
      // The triggers of the others need it.
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

/** A store with its activity and its spool. */
export type WatchedStore = SqlStore &
  Pick<SqliteStore, 'activity' | 'defer' | 'useSpool' | 'makeRoom' | 'spoolAs' | 'unkept' | 'fence' | 'note'>;

/** A database with its repositories, and without its books. */
export type SqliteRepositories = WatchedStore & Repositories & { readonly news: News };

/** One handle of a database. State: writes. */
class SqliteStore extends GroupCommit<SqlWrite> implements SqlStore {
  readonly #db: Database;
  readonly #appends: SpooledAppends;
  #spool: Spool | null = null;
  /** By their text. */
  readonly #prepared = new Map<string, Prepared<unknown, SqlParam[]>>();
  readonly #begin: Prepared;
  readonly #end: Prepared;
  /** Whether commits are synced now, and whether all before are. */
  #syncs = true;
  #isSynced = true;

  /** Null for a command. */
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
        ...{ faultOf, textOf: messageOf, onError },
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

  /** Uses this file from now on for settlements that the database refuses. Closes it with the store. */
  spoolAs(encode: (writes: readonly SqlWrite[]) => SpooledUnit): void {
    this.#appends.encode = encode;
  }

  useSpool(spool: Spool): void {
    this.#spool = spool;
    this.#appends.spool = spool;
  }

  /** Writes at once: it outlives this process when this returns, and the machine with the next commit. Throws what the database throws. */
  note(write: SqlWrite): void {
    this.#transact([{ writes: [write] }], false);
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      // The caller states the type of the rows; STRICT tables hold them to it.
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
    // An earlier rollback may have failed. Its transaction would make every later one fail.
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
      // An empty commit neither syncs nor notices a full disk, so this writes a page.
      if (isEmpty && synced && (!this.#isSynced || this.isFailing))
        this.#db.run(`PRAGMA user_version = ${Date.now() & 0xffff}`);
      this.#end.run();
      this.#isSynced = synced || (isEmpty && this.#isSynced);
    } catch (error) {
      this.#rollback();
      throw error;
    }
  }

  /** @returns the number of rows that it has changed, or selected for what follows it */
  #write({ statement, params, follow }: SqlWrite): number {
    const prepared = this.#prepare(statement);
    if (!follow) return prepared.run(...params).changes;
    const rows = prepared.all(...params) as SqlRow[];
    if (rows.length > 0) runScript(follow(rows), (step) => this.#prepare(step.statement));
    return rows.length;
  }

  /**
   * Sets whether the next commit is synced. A synced commit also syncs the commits before it. Not prepared: SQLite sets this
   * while it compiles, so that the first run of a prepared statement does nothing, and each later one compiles again.
   */
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

/** SQLite gives its companion files (-wal, -shm) the mode of the database, so it must be right before they exist. */
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // An existing file is never opened here: closing it would drop the locks that this process holds on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
