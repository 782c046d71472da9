import { Spread } from '../../core/spread.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Timer, Timers } from '../../core/timers.ts';
import { COMMIT_BOUNDS, type StoreActivity } from '../activity.ts';
import { type Spool, type SpooledUnit, spooledRows } from '../spool/spool.ts';
import type { SqlWrite } from '../sql/statement.ts';
import { SpoolError, StoreError, type StoreErrorReason } from '../store.ts';

/** With this many commits within the window, it pays to wait for more. */
const DENSE_COMMITS = 24;
const DENSE_WINDOW_MS = 1;
/** Pause between two transactions while commits come densely. A sync costs as much as several requests. */
const SPACING_MS = 1;
/** An append waits at most this long to be written or synced with a commit. */
const APPEND_DELAY_MS = 5;
/** As many deferred writes go to the disk together, and none waits longer. */
const DEFERRED_MAX = 64;
const DEFER_MS = 50;
/** Pause after the disk has failed, so that a broken one is not hammered. */
const RETRY_MS = 100;
/** How often a failing disk is tried when nothing waits for it, so that readiness recovers with it. */
const PROBE_MS = 1_000;
/** Most units waiting. Beyond it commits and droppable appends are refused; other appends are bounded by open requests. */
const UNITS_MAX = 10_000;
const OWN_FAULTS: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet']);

/** Writes that are written all or nothing. Without `reject` it is an append. */
interface Unit {
  readonly writes: readonly SqlWrite[];
  readonly resolve: (() => void) | null;
  readonly reject: ((error: StoreError) => void) | null;
  /** The spool has its settlements. */
  isSpooled: boolean;
}

export interface Transactions {
  /**
   * Writes all units in one transaction, or throws and changes nothing. `synced`: they and all earlier writes are then on the
   * disk, even if there is nothing to write; otherwise they may only be in the system's memory. While the disk fails, an empty
   * transaction tries it too.
   */
  transact(units: readonly { readonly writes: readonly SqlWrite[] }[], synced: boolean): void;
  /** Why it threw. `refused` and `unmet` lie in the writes themselves, so that they will never succeed. */
  faultOf(error: unknown): StoreErrorReason;
  /** Called with appends that were lost, and once when a disk starts to fail. */
  onError(error: StoreError): void;
}

/**
 * Groups writes into few transactions, because a sync to the disk is most of the cost of a commit. A single commit is done in
 * the same turn of the event loop. When many come at once, a millisecond passes between transactions. Appends are written with
 * the next commit. If a caller waits for them and no commit is near, they are written without a sync, which survives the
 * process but not the machine. State: writes.
 */
export class GroupCommit implements StoreActivity {
  readonly commits = new Spread(COMMIT_BOUNDS);
  errors = 0;
  readonly #db: Transactions;
  readonly #timers: Timers;
  #units: Unit[] = [];
  /** Times of the last DENSE_COMMITS commits, as a ring. */
  readonly #recent = new Float64Array(DENSE_COMMITS).fill(Number.NEGATIVE_INFINITY);
  #next = 0;
  #lastRun = Number.NEGATIVE_INFINITY;
  #failing = false;
  /** A run is due whatever else comes. */
  #scheduled = false;
  #appendTimer: Timer | null = null;
  readonly #onAppendDue = (): void => this.#appendDue();
  /** When the oldest append came that is not synced. */
  #oldestAppend = Number.POSITIVE_INFINITY;
  #deferred: SqlWrite[] = [];
  #deferTimer: Timer | null = null;
  readonly #onDeferDue = (): void => this.#appendDeferred();
  /** Settled by the next run, once earlier appends are written or refused: all who wait for them share it. */
  #awaited: PromiseWithResolvers<boolean> | null = null;
  /** Takes settlements that the disk refuses; without it they wait in memory alone. */
  spool: Pick<Spool, 'add' | 'clear'> | null = null;
  /** Returns the rows of a unit that the spool keeps. */
  protected encode: (writes: readonly SqlWrite[]) => SpooledUnit = spooledRows;
  #spoolFailing = false;
  /** The number of appends that should outlive the process, but are neither in the database nor in the spool. */
  unkept = 0;
  #closed = false;

  constructor(db: Transactions, timers: Timers) {
    this.#db = db;
    this.#timers = timers;
  }

  get waiting(): number {
    return this.#units.length;
  }

  get isFailing(): boolean {
    return this.#failing;
  }

  commit(writes: readonly SqlWrite[]): Promise<void> {
    return this.#add(writes);
  }

  #add(writes: readonly SqlWrite[]): Promise<void> {
    const refusal = this.#refusal();
    if (refusal) return Promise.reject(refusal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#units.push({ writes, resolve, reject, isSpooled: false });
    const now = performance.now();
    const dense = now - this.#recent[this.#next]! < DENSE_WINDOW_MS;
    this.#recent[this.#next] = now;
    this.#next = (this.#next + 1) % DENSE_COMMITS;
    if (!this.#scheduled) this.#schedule(dense ? this.#lastRun + SPACING_MS - now : 0);
    return promise;
  }

  append(writes: readonly SqlWrite[], droppable = false): void {
    const refusal = droppable || this.#closed ? this.#refusal() : null;
    if (refusal) {
      this.#db.onError(refusal);
      return;
    }
    this.#units.push({ writes, resolve: null, reject: null, isSpooled: false });
    if (this.#oldestAppend === Number.POSITIVE_INFINITY) this.#oldestAppend = performance.now();
    if (!this.#scheduled) this.#armAppend(APPEND_DELAY_MS);
  }

  /** Appends a write together with those that follow: a page that many rows share is then written once. */
  defer(write: SqlWrite): void {
    this.#deferred.push(write);
    if (this.#closed || this.#deferred.length >= DEFERRED_MAX) this.#appendDeferred();
    else this.#deferTimer ??= this.#timers.after(DEFER_MS, this.#onDeferDue);
  }

  /**
   * Resolves with true once all appends so far are written, perhaps not synced yet, so that they outlive this process. If the
   * disk refuses them, they are tried again, and this resolves with whether the spool has them.
   */
  written(): Promise<boolean> {
    if (this.#units.length === 0 || this.#closed) return Promise.resolve(this.unkept === 0);
    if (!this.#scheduled) this.#schedule(0);
    this.#awaited ??= Promise.withResolvers();
    return this.#awaited.promise;
  }

  async flush(): Promise<void> {
    this.#appendDeferred();
    if (this.#oldestAppend < Number.POSITIVE_INFINITY || this.#units.length > 0) await this.#add([]);
  }

  /** Flushes, then refuses everything. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#closed = true;
      this.#appendTimer?.close();
    }
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
    if (this.#closed) return new StoreError('the store is closed', { reason: 'closed' });
    if (this.#units.length < UNITS_MAX) return null;
    this.errors++;
    return new StoreError(`${UNITS_MAX} writes are waiting for the disk`, { reason: 'crowded' });
  }

  #schedule(delayMs: number): void {
    this.#scheduled = true;
    const delay = this.#failing ? RETRY_MS : delayMs;
    if (delay > 0) this.#timers.after(Math.ceil(delay), () => this.#run(false));
    else setImmediate(() => this.#run(false));
  }

  /** The timer stays when a commit writes its appends: setting a timer costs more than letting it fire in vain. */
  #armAppend(delayMs: number): void {
    this.#appendTimer ??= this.#timers.after(delayMs, this.#onAppendDue);
  }

  #appendDue(): void {
    this.#appendTimer = null;
    if (this.#oldestAppend === Number.POSITIVE_INFINITY) return;
    const left = APPEND_DELAY_MS - (performance.now() - this.#oldestAppend);
    if (left > 1) this.#armAppend(left);
    else if (this.#scheduled) this.#armAppend(1);
    else this.#run(true);
  }

  /** `due`: appends have waited long enough for a sync. */
  #run(due: boolean): void {
    if (this.#closed) return;
    if (due) {
      // What is deferred rides along: soon it would need a sync of its own.
      this.#scheduled = true;
      this.#appendDeferred();
    }
    const units = this.#units;
    const awaited = this.#awaited;
    this.#units = [];
    this.#awaited = null;
    this.#scheduled = false;
    const synced = due || units.some(({ reject }) => reject !== null);
    const isTried = units.length > 0 || synced;
    const refused = isTried ? this.#write(units, synced) : null;
    this.#lastRun = performance.now();
    if (refused) this.#keep(refused.units, refused.error);
    else if (isTried) this.#succeeded(synced);
    awaited?.resolve(this.unkept === 0);
  }

  #succeeded(synced: boolean): void {
    this.#failing = false;
    this.unkept = 0;
    if (!synced) {
      this.#armAppend(APPEND_DELAY_MS);
      return;
    }
    this.#oldestAppend = Number.POSITIVE_INFINITY;
    this.#spoolDone((spool) => spool.clear());
  }

  /** Returns the units that the disk refused. A bad write is found by trying each unit apart: its neighbours are written. */
  #write(units: readonly Unit[], synced: boolean): { units: readonly Unit[]; error: unknown } | null {
    const began = performance.now();
    try {
      this.#db.transact(units, synced);
      this.commits.observe((performance.now() - began) / 1_000);
      for (const unit of units) unit.resolve?.();
      return null;
    } catch (error) {
      if (!OWN_FAULTS.has(this.#db.faultOf(error))) return { units, error };
      if (units.length === 1) {
        this.#refuse(units[0]!, error);
        return null;
      }
    }
    for (let i = 0; i < units.length; i++) {
      const refused = this.#write(units.slice(i, i + 1), synced);
      if (refused) return { units: units.slice(i), error: refused.error };
    }
    return null;
  }

  #failure(what: string, cause: unknown): StoreError {
    this.errors++;
    return new StoreError(`${what}: ${messageOf(cause)}`, { reason: this.#db.faultOf(cause), cause });
  }

  #refuse(unit: Unit, cause: unknown): void {
    const error = this.#failure('a write was refused', cause);
    if (unit.reject) unit.reject(error);
    else this.#db.onError(error);
  }

  /** The disk failed: commits are rejected, appends stay first in line. */
  #keep(units: readonly Unit[], cause: unknown): void {
    const error = this.#failure('the database cannot be written', cause);
    if (!this.#failing) this.#db.onError(error);
    this.#failing = true;
    const kept = units.filter((unit) => unit.reject === null);
    for (const unit of units) unit.reject?.(error);
    this.#units = kept.concat(this.#units);
    this.#spill(kept);
    if (this.#scheduled) return;
    if (this.#units.length > 0) this.#schedule(0);
    else this.#timers.after(PROBE_MS, () => !this.#scheduled && this.#failing && this.#run(true)).unref();
  }

  /** Puts the settlements among the refused appends into the spool. */
  #spill(kept: readonly Unit[]): void {
    const fresh = kept.filter(({ isSpooled }) => !isSpooled);
    const rows = fresh.map(({ writes }) => this.encode(writes)).filter(({ length }) => length > 0);
    const isKept = rows.length === 0 || this.#spoolDone((spool) => spool.add(rows));
    if (isKept) for (const unit of fresh) unit.isSpooled = true;
    this.unkept = isKept ? 0 : rows.length;
  }

  /** False when it could not be done, which is reported once until it can. */
  #spoolDone(work: (spool: Pick<Spool, 'add' | 'clear'>) => void): boolean {
    try {
      if (!this.spool) return false;
      work(this.spool);
      this.#spoolFailing = false;
      return true;
    } catch (cause) {
      this.errors++;
      const error = cause instanceof StoreError ? cause : new SpoolError(messageOf(cause), { cause });
      if (!this.#spoolFailing) this.#db.onError(error);
      this.#spoolFailing = true;
      return false;
    }
  }
}
