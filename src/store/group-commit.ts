import { Spread } from '../core/time/spread.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';
import { StoreError, type StoreErrorReason, type Write } from './store.ts';

/** If this many commits arrive within the window, waiting for more commits pays off. */
const DENSE_COMMITS = 24;
const DENSE_WINDOW_MS = 1;
/** The longest that an append waits to be written or synced together with a commit, ms. */
const APPEND_DELAY_MS = 5;
/** The number of deferred writes at which the deferred writes are passed on together. A write is also passed on after `DEFER_MS`. */
const DEFERRED_MAX = 64;
const DEFER_MS = 50;
/** The pause after the database failed, ms, so that a broken database is not overloaded. */
const RETRY_MS = 100;
/**
 * The most waiting units. If more units wait, commits and droppable appends are refused. The number of open requests bounds the other
 * appends.
 */
const UNITS_MAX = 10_000;
const OWN_FAULTS: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet']);

/** A unit: writes that the database applies all or nothing. */
export interface WriteUnit<Own extends Write> {
  readonly writes: readonly Own[];
}

/** A unit without `reject` is an append: no caller waits for it. */
interface Unit<Own extends Write> extends WriteUnit<Own> {
  readonly resolve: (() => void) | null;
  readonly reject: ((error: StoreError) => void) | null;
}

/** The pace of a database: how large its transactions are, how far apart, and how it behaves while it fails. */
export interface GroupPace {
  /** The most units in one transaction. */
  readonly unitsMax: number;
  /** Pause between two transactions while many commits arrive, ms; 0 for none. */
  readonly spacingMs: number;
  /** How often to retry a failing database while no write waits, ms. The server becomes ready again when a retry succeeds. */
  readonly probeMs: number;
  /** Whether the database can commit without a sync. A commit without a sync survives a crash of the process but not of the machine. */
  readonly canSkipSync: boolean;
  /**
   * Whether commits are refused at once while the database fails. It may be slow to fail: an attempt to write may take as long as a
   * connection timeout.
   */
  readonly failsFast: boolean;
}

/** A database whose writes `GroupCommit` groups into transactions. */
export interface GroupedDatabase<Own extends Write> {
  readonly pace: GroupPace;
  /**
   * Writes all units in one transaction, or fails and changes nothing. With `synced`, these and all earlier writes are on the disk
   * afterwards, even if there is nothing to write; without `synced`, the writes may only be in the operating system's memory. While the
   * database fails, an empty transaction also tests it.
   * @returns undefined if the transaction is already done; else a promise, which resolves with false if nothing happened and the caller
   * must repeat the transaction.
   */
  transact(units: readonly WriteUnit<Own>[], synced: boolean): Promise<boolean> | undefined;
  /** Returns why a transaction failed. The reasons `refused` and `unmet` are caused by the writes themselves: a retry can never succeed. */
  faultOf(error: unknown): StoreErrorReason;
  /** Returns why a transaction failed, in words. */
  textOf(error: unknown): string;
  /** A function that is called for each lost append, and once when the database begins to fail. */
  onError(error: StoreError): void;
  /**
   * A function that is called with all waiting appends after the database refused some appends. @returns whether the appends that must
   * survive the process now do
   */
  keep(appends: readonly WriteUnit<Own>[]): boolean;
  /** A function that is called once the database has written all writes that it received. */
  written(synced: boolean): void;
}

/**
 * Group commit: joins many writes into few transactions, because the sync to the disk is most of the cost of a commit. A single commit runs
 * in the same turn of the event loop. When many commits arrive at once, the commits wait for the transaction in progress, or for the
 * database's pause. Appends are written with the next commit. If a caller waits for appends and no commit is near, the appends are written
 * without a sync if the database can commit without a sync. A unit that is itself faulty is refused alone. State: writes.
 */
export class GroupCommit<Own extends Write> implements StoreActivity {
  readonly commits = new Spread(COMMIT_BOUNDS);
  errors = 0;
  readonly #db: GroupedDatabase<Own>;
  readonly #pace: GroupPace;
  readonly #timers: Timers;
  #units: Unit<Own>[] = [];
  /** The units of the transaction in progress. */
  #current: readonly Unit<Own>[] = [];
  /** Number of units at the head of the queue to try one by one, because one unit is faulty. */
  #apart = 0;
  /** Whether an asynchronous transaction is in progress. */
  #isBusy = false;
  /** Whether the database has failed during the current run. */
  #hasFailed = false;
  /** Times of the last DENSE_COMMITS commits, in a ring buffer. */
  readonly #recent = new Float64Array(DENSE_COMMITS).fill(Number.NEGATIVE_INFINITY);
  #next = 0;
  #lastRun = Number.NEGATIVE_INFINITY;
  /** Why the last write to the database failed; null while the database works. */
  #fault: StoreError | null = null;
  /** Whether a run is already scheduled. */
  #scheduled = false;
  #appendTimer: Timer | null = null;
  readonly #onAppendDue = (): void => this.#appendDue();
  /** When the oldest append arrived that is not synced yet. */
  #oldestAppend = Number.POSITIVE_INFINITY;
  #deferred: Own[] = [];
  #deferTimer: Timer | null = null;
  readonly #onDeferDue = (): void => this.#appendDeferred();
  /**
   * A promise shared by all callers that wait for earlier appends. The next run settles the promise once these appends are written or
   * refused.
   */
  #awaited: PromiseWithResolvers<boolean> | null = null;
  /** Whether all appends survive the process that should survive it. */
  #areKept = true;
  #isClosed = false;

  constructor(db: GroupedDatabase<Own>, timers: Timers) {
    this.#db = db;
    this.#pace = db.pace;
    this.#timers = timers;
  }

  get activity(): StoreActivity {
    return this;
  }

  get waiting(): number {
    return this.#units.length;
  }

  get isFailing(): boolean {
    return this.#fault !== null;
  }

  commit(writes: readonly Own[]): Promise<void> {
    return this.#add(writes);
  }

  #add(writes: readonly Own[]): Promise<void> {
    const refusal = this.#refusal() ?? (this.#pace.failsFast ? this.#fault : null);
    if (refusal) return Promise.reject(refusal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#units.push({ writes, resolve, reject });
    const delayMs = this.#spacing();
    if (!this.#scheduled) this.#schedule(delayMs);
    return promise;
  }

  append(writes: readonly Own[], droppable = false): void {
    const refusal = droppable || this.#isClosed ? this.#refusal() : null;
    if (refusal) {
      this.#db.onError(refusal);
      return;
    }
    this.#units.push({ writes, resolve: null, reject: null });
    if (this.#oldestAppend === Number.POSITIVE_INFINITY) this.#oldestAppend = performance.now();
    if (!this.#scheduled) this.#armAppend(APPEND_DELAY_MS);
  }

  /**
   * Appends a write a little later, together with the next deferred writes. If many deferred rows share a page of the database, the page is
   * then written only once.
   */
  defer(write: Own): void {
    this.#deferred.push(write);
    if (this.#isClosed || this.#deferred.length >= DEFERRED_MAX) this.#appendDeferred();
    else this.#deferTimer ??= this.#timers.after(DEFER_MS, this.#onDeferDue);
  }

  /**
   * Resolves with true once all appends so far are written and so survive this process, although the appends may not be synced yet. If the
   * database refuses appends, the appends are retried, and the promise resolves with whether they are safe elsewhere, such as in a spool.
   */
  written(): Promise<boolean> {
    if (this.#isClosed || (this.#units.length === 0 && !this.#isBusy)) return Promise.resolve(this.#areKept);
    if (!this.#pace.canSkipSync)
      return this.#add([]).then(
        () => true,
        () => false,
      );
    if (!this.#scheduled) this.#schedule(0);
    this.#awaited ??= Promise.withResolvers();
    return this.#awaited.promise;
  }

  async flush(): Promise<void> {
    this.#appendDeferred();
    if (this.#oldestAppend < Number.POSITIVE_INFINITY || this.#units.length > 0 || this.#isBusy) await this.#add([]);
  }

  /** Flushes all waiting writes, then refuses all further writes. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      this.#appendTimer?.close();
      this.#deferTimer?.close();
    }
  }

  /**
   * Rejects all waiting callers while it is unknown whether the transaction in progress was committed. The appends of that transaction stay
   * in the queue.
   */
  protected stopWaiting(): void {
    const lost = new StoreError('the connection broke before the database had answered', { reason: 'unknown' });
    this.#fault ??= new StoreError('the database cannot be reached');
    this.#apart = 0;
    this.#current = withoutCallers(this.#current, lost);
    this.#units = withoutCallers(this.#units, this.#fault);
  }

  #appendDeferred(): void {
    this.#deferTimer?.close();
    this.#deferTimer = null;
    const writes = this.#deferred;
    this.#deferred = [];
    // Each appended write becomes its own unit, so that a faulty write does not fail the other writes.
    for (const write of writes) this.append([write], true);
  }

  #refusal(): StoreError | null {
    if (this.#isClosed) return new StoreError('the store is closed', { reason: 'closed' });
    if (this.#units.length < UNITS_MAX) return null;
    this.errors++;
    return new StoreError(`${UNITS_MAX} writes are waiting for the database`, { reason: 'crowded' });
  }

  /** @returns how long a commit that arrives now waits for more commits, ms */
  #spacing(): number {
    const { spacingMs } = this.#pace;
    if (spacingMs === 0) return 0;
    const now = performance.now();
    const isDense = now - this.#recent[this.#next]! < DENSE_WINDOW_MS;
    this.#recent[this.#next] = now;
    this.#next = (this.#next + 1) % DENSE_COMMITS;
    return isDense ? this.#lastRun + spacingMs - now : 0;
  }

  #schedule(delayMs: number): void {
    this.#scheduled = true;
    const delay = this.#fault ? RETRY_MS : delayMs;
    if (delay > 0) this.#timers.after(Math.ceil(delay), () => this.#run(false));
    else setImmediate(() => this.#run(false));
  }

  /**
   * The timer keeps running after a commit has written the appends, because setting a timer costs more time than a timer that fires for
   * nothing.
   */
  #armAppend(delayMs: number): void {
    this.#appendTimer ??= this.#timers.after(delayMs, this.#onAppendDue);
  }

  #appendDue(): void {
    this.#appendTimer = null;
    // Appends that arrive during an asynchronous transaction are written when the transaction ends.
    if (this.#oldestAppend === Number.POSITIVE_INFINITY || this.#isBusy) return;
    const left = APPEND_DELAY_MS - (performance.now() - this.#oldestAppend);
    if (left > 1) this.#armAppend(left);
    else if (this.#scheduled) this.#armAppend(1);
    else this.#run(true);
  }

  /** Runs the next transaction. `due`: appends have waited long enough and need a sync. */
  #run(due: boolean): void {
    if (this.#isClosed) return;
    this.#scheduled = true;
    // The transaction includes the deferred writes, because a separate transaction for the deferred writes would need another sync.
    if (due) this.#appendDeferred();
    const synced = due || !this.#pace.canSkipSync || this.#units.some(({ reject }) => reject !== null);
    this.#hasFailed = false;
    if (this.#units.length > 0 || synced) this.#write(synced);
    else this.#end();
  }

  /** Writes the next group. If the group has a faulty unit, each unit of the group is written alone. */
  #write(synced: boolean): void {
    do {
      const answer = this.#transact(synced);
      if (answer) {
        this.#isBusy = true;
        void answer.then(() => (this.#apart > 0 ? this.#write(synced) : this.#wrote(synced)));
        return;
      }
    } while (this.#apart > 0);
    this.#wrote(synced);
  }

  #transact(synced: boolean): Promise<void> | null {
    this.#take();
    const began = performance.now();
    try {
      const answer = this.#db.transact(this.#current, synced);
      if (answer)
        return answer.then(
          (isDone) => (isDone ? this.#succeeded(began) : this.#putBack()),
          (error) => this.#failed(error),
        );
      this.#succeeded(began);
    } catch (error) {
      this.#failed(error);
    }
    return null;
  }

  #take(): void {
    const { unitsMax } = this.#pace;
    if (this.#apart > 0) {
      this.#apart--;
      this.#current = this.#units.splice(0, 1);
    } else if (this.#units.length > unitsMax) this.#current = this.#units.splice(0, unitsMax);
    else {
      this.#current = this.#units;
      this.#units = [];
    }
  }

  #putBack(): void {
    if (this.#apart > 0) this.#apart += this.#current.length;
    this.#units = this.#current.concat(this.#units);
    this.#current = [];
  }

  #succeeded(began: number): void {
    this.commits.observe((performance.now() - began) / 1_000);
    for (const unit of this.#current) unit.resolve?.();
  }

  /** To find a faulty unit, each unit of the group is tried alone, so that the units that are not faulty are still written. */
  #failed(cause: unknown): void {
    if (!OWN_FAULTS.has(this.#db.faultOf(cause))) this.#keep(cause);
    else if (this.#current.length === 1) this.#refuse(this.#current[0]!, cause);
    else {
      this.#apart = this.#current.length;
      this.#units = this.#current.concat(this.#units);
    }
  }

  /** Handles a failed database: rejects commits, and keeps appends at the head of the queue. */
  #keep(cause: unknown): void {
    const error = this.#failure('the database cannot be written', cause);
    if (!this.#fault) this.#db.onError(error);
    this.#fault = error;
    this.#hasFailed = true;
    this.#apart = 0;
    this.#units = withoutCallers(this.#current.concat(this.#units), error);
    this.#areKept = this.#db.keep(this.#units);
  }

  #refuse(unit: Unit<Own>, cause: unknown): void {
    const error = this.#failure('a write was refused', cause);
    if (unit.reject) unit.reject(error);
    else this.#db.onError(error);
  }

  #failure(what: string, cause: unknown): StoreError {
    this.errors++;
    return new StoreError(`${what}: ${this.#db.textOf(cause)}`, { reason: this.#db.faultOf(cause), cause });
  }

  #wrote(synced: boolean): void {
    this.#current = [];
    if (!this.#hasFailed) {
      this.#fault = null;
      this.#areKept = true;
      this.#db.written(synced);
      if (!synced) this.#armAppend(APPEND_DELAY_MS);
      else if (this.#units.length === 0) this.#oldestAppend = Number.POSITIVE_INFINITY;
    }
    this.#end();
    if (!this.#hasFailed) return;
    if (this.#units.length > 0) this.#schedule(0);
    else this.#timers.after(this.#pace.probeMs, () => !this.#scheduled && this.isFailing && this.#run(true)).unref();
  }

  #end(): void {
    const wasBusy = this.#isBusy;
    this.#isBusy = this.#scheduled = false;
    this.#lastRun = performance.now();
    this.#awaited?.resolve(this.#areKept);
    this.#awaited = null;
    // Writes that arrived during the transaction have waited long enough.
    if (wasBusy && !this.#hasFailed && this.#units.length > 0) this.#run(false);
  }
}

/** Rejects the units that a caller waits for. @returns the other units, which are appends */
function withoutCallers<Own extends Write>(units: readonly Unit<Own>[], error: StoreError): Unit<Own>[] {
  for (const { reject } of units) reject?.(error);
  return units.filter(({ reject }) => reject === null);
}
