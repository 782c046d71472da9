import { Spread } from '../core/spread.ts';
import type { Timer, Timers } from '../core/timers.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';
import { StoreError, type StoreErrorReason, type Write } from './store.ts';

/** With this many commits within the window, it pays to wait for more. */
const DENSE_COMMITS = 24;
const DENSE_WINDOW_MS = 1;
/** An append waits at most this long to be written or synced with a commit. */
const APPEND_DELAY_MS = 5;
/** As many deferred writes go to the database together, and none waits longer. */
const DEFERRED_MAX = 64;
const DEFER_MS = 50;
/** Pause after the database has failed, so that a broken one is not hammered. */
const RETRY_MS = 100;
/** Most units waiting. Beyond it commits and droppable appends are refused; other appends are bounded by open requests. */
const UNITS_MAX = 10_000;
const OWN_FAULTS: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet']);

/** Writes that are written all or nothing. */
export interface WriteUnit<Own extends Write> {
  readonly writes: readonly Own[];
}

/** Without `reject` it is an append. */
interface Unit<Own extends Write> extends WriteUnit<Own> {
  readonly resolve: (() => void) | null;
  readonly reject: ((error: StoreError) => void) | null;
}

/** How a database likes its transactions. */
export interface GroupPace {
  /** Units in one transaction at most. */
  readonly unitsMax: number;
  /** Pause between two transactions while commits come densely, ms; 0 for none. */
  readonly spacingMs: number;
  /** How often a failing database is tried when nothing waits for it, so that readiness recovers with it, ms. */
  readonly probeMs: number;
  /** Whether it can write without a sync, which survives the process but not the machine. */
  readonly canSkipSync: boolean;
  /** Whether commits are refused at once while it fails: one try may take as long as a connection does. */
  readonly failsFast: boolean;
}

/** A database that transactions are grouped for, with writes of its own. */
export interface GroupedDatabase<Own extends Write> {
  readonly pace: GroupPace;
  /**
   * Writes all units in one transaction, or fails and changes nothing. `synced`: they and all earlier writes are then on the
   * disk, even if there is nothing to write; otherwise they may only be in the system's memory. While the database fails, an
   * empty transaction tries it too.
   * @returns nothing once it is done; a promise where that takes time, of false where nothing has happened and it is to be repeated
   */
  transact(units: readonly WriteUnit<Own>[], synced: boolean): Promise<boolean> | undefined;
  /** Why it failed. `refused` and `unmet` lie in the writes themselves, so that they will never succeed. */
  faultOf(error: unknown): StoreErrorReason;
  /** The same in words. */
  textOf(error: unknown): string;
  /** Called with appends that were lost, and once when the database starts to fail. */
  onError(error: StoreError): void;
  /** Called with all appends that wait, once the database has refused some. @returns whether those that must outlive the process do */
  keep(appends: readonly WriteUnit<Own>[]): boolean;
  /** Called once the database has written what was given to it. */
  written(synced: boolean): void;
}

/**
 * Groups writes into few transactions, because a sync to the disk is most of the cost of a commit. A single commit is done in
 * the same turn of the event loop. When many come at once, they wait for the transaction in progress, or for the spacing of the
 * database. Appends are written with the next commit. If a caller waits for them and no commit is near, they are written without
 * a sync where the database can. A unit with a fault of its own is refused alone. State: writes.
 */
export class GroupCommit<Own extends Write> implements StoreActivity {
  readonly commits = new Spread(COMMIT_BOUNDS);
  errors = 0;
  readonly #db: GroupedDatabase<Own>;
  readonly #pace: GroupPace;
  readonly #timers: Timers;
  #units: Unit<Own>[] = [];
  /** Units of the transaction in progress. */
  #current: readonly Unit<Own>[] = [];
  /** So many of the first units are tried one by one, because there is a bad one among them. */
  #apart = 0;
  /** Whether a transaction takes time now. */
  #isBusy = false;
  /** Whether the database has failed in the run in progress. */
  #hasFailed = false;
  /** Times of the last DENSE_COMMITS commits, as a ring. */
  readonly #recent = new Float64Array(DENSE_COMMITS).fill(Number.NEGATIVE_INFINITY);
  #next = 0;
  #lastRun = Number.NEGATIVE_INFINITY;
  /** Why the database could not be written; null while it can be. */
  #fault: StoreError | null = null;
  /** A run is due whatever else comes. */
  #scheduled = false;
  #appendTimer: Timer | null = null;
  readonly #onAppendDue = (): void => this.#appendDue();
  /** When the oldest append came that is not synced. */
  #oldestAppend = Number.POSITIVE_INFINITY;
  #deferred: Own[] = [];
  #deferTimer: Timer | null = null;
  readonly #onDeferDue = (): void => this.#appendDeferred();
  /** Settled by the next run, once earlier appends are written or refused: all who wait for them share it. */
  #awaited: PromiseWithResolvers<boolean> | null = null;
  /** Whether all appends that should outlive the process do. */
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

  /** Appends a write together with those that follow: a page that many rows share is then written once. */
  defer(write: Own): void {
    this.#deferred.push(write);
    if (this.#isClosed || this.#deferred.length >= DEFERRED_MAX) this.#appendDeferred();
    else this.#deferTimer ??= this.#timers.after(DEFER_MS, this.#onDeferDue);
  }

  /**
   * Resolves with true once all appends so far are written, perhaps not synced yet, so that they outlive this process. If the
   * database refuses them, they are tried again, and this resolves with whether they are kept elsewhere.
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

  /** Flushes, then refuses everything. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      this.#appendTimer?.close();
      this.#deferTimer?.close();
    }
  }

  /** Ends the wait of all callers while it is unknown whether the transaction in progress has happened. Its appends wait on. */
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
    // Each alone, so that a bad one takes no other with it.
    for (const write of writes) this.append([write], true);
  }

  #refusal(): StoreError | null {
    if (this.#isClosed) return new StoreError('the store is closed', { reason: 'closed' });
    if (this.#units.length < UNITS_MAX) return null;
    this.errors++;
    return new StoreError(`${UNITS_MAX} writes are waiting for the database`, { reason: 'crowded' });
  }

  /** @returns how long a commit that came now waits for more, ms */
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

  /** The timer stays when a commit writes its appends: setting a timer costs more than letting it fire in vain. */
  #armAppend(delayMs: number): void {
    this.#appendTimer ??= this.#timers.after(delayMs, this.#onAppendDue);
  }

  #appendDue(): void {
    this.#appendTimer = null;
    // What comes during a transaction that takes time is written when it ends.
    if (this.#oldestAppend === Number.POSITIVE_INFINITY || this.#isBusy) return;
    const left = APPEND_DELAY_MS - (performance.now() - this.#oldestAppend);
    if (left > 1) this.#armAppend(left);
    else if (this.#scheduled) this.#armAppend(1);
    else this.#run(true);
  }

  /** `due`: appends have waited long enough for a sync. */
  #run(due: boolean): void {
    if (this.#isClosed) return;
    this.#scheduled = true;
    // What is deferred rides along: soon it would need a sync of its own.
    if (due) this.#appendDeferred();
    const synced = due || !this.#pace.canSkipSync || this.#units.some(({ reject }) => reject !== null);
    this.#hasFailed = false;
    if (this.#units.length > 0 || synced) this.#write(synced);
    else this.#end();
  }

  /** Writes the next group, and then each unit that is to be tried apart. */
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

  /** A bad unit is found by trying each apart: its neighbours are written. */
  #failed(cause: unknown): void {
    if (!OWN_FAULTS.has(this.#db.faultOf(cause))) this.#keep(cause);
    else if (this.#current.length === 1) this.#refuse(this.#current[0]!, cause);
    else {
      this.#apart = this.#current.length;
      this.#units = this.#current.concat(this.#units);
    }
  }

  /** The database failed: commits are rejected, appends stay first in line. */
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
    // What came meanwhile has waited long enough.
    if (wasBusy && !this.#hasFailed && this.#units.length > 0) this.#run(false);
  }
}

/** Rejects those of the units that a caller waits for. @returns the others, which are appends */
function withoutCallers<Own extends Write>(units: readonly Unit<Own>[], error: StoreError): Unit<Own>[] {
  for (const { reject } of units) reject?.(error);
  return units.filter(({ reject }) => reject === null);
}
