import { Spread } from '../../core/spread.ts';
import { pause, type Timer, type Timers } from '../../core/timers.ts';
import { COMMIT_BOUNDS, type StoreActivity } from '../activity.ts';
import type { SqlWrite } from '../sql/statement.ts';
import { StoreError, type StoreErrorReason } from '../store.ts';
import type { Connection } from './connection.ts';
import type { PostgresDialect } from './dialect.ts';
import { faultOf, faultText, isConflict, isLoss } from './fault.ts';
import { type CommitInDoubt, type LeaseCheck, outcomeOf, transact, UnansweredCommit } from './transaction.ts';

/** Units in one transaction at most. */
const GROUP_MAX = 500;
/** An append waits at most this long for a commit to ride with. */
const APPEND_DELAY_MS = 5;
/** As many deferred writes go to the database together, and none waits longer. */
const DEFERRED_MAX = 64;
const DEFER_MS = 50;
/** Pause after the database was away. */
const RETRY_MS = 100;
const DOUBT_MS = 2_000;
/** Most units waiting. Beyond it commits and droppable appends are refused. */
const UNITS_MAX = 10_000;
/** A transaction that met another one's locks in the wrong order is done again. */
const CONFLICTS_MAX = 10;
const OWN_FAULTS: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet']);

/** Writes that are written all or nothing. Without `reject` it is an append. */
interface Unit {
  readonly writes: readonly SqlWrite[];
  readonly resolve: (() => void) | null;
  readonly reject: ((error: StoreError) => void) | null;
}

/** Units of a transaction of which nobody knows yet whether it has happened. */
interface DoubtfulGroup {
  readonly units: readonly Unit[];
  readonly doubt: CommitInDoubt;
  readonly since: number;
}

export interface WriterOptions {
  readonly open: () => Promise<Connection>;
  readonly dialect: PostgresDialect;
  readonly fence: () => LeaseCheck | null;
  /** Called with appends that were lost, and once when the database begins to fail. */
  readonly onError: (error: StoreError) => void;
  readonly timers: Timers;
  /** How long callers wait to be told what became of a commit whose answer was lost, ms; 2 s unless stated. */
  readonly doubtMs?: number | undefined;
}

/**
 * Writes of one process, in the order in which they were given, over one connection. Those that wait while a transaction is under way
 * share the next one. Appends that cannot be written stay first in line. A commit whose answer was lost is found out by
 * the number of its transaction before anything else is written. State: database writes.
 */
export class PostgresWriter implements StoreActivity {
  readonly commits = new Spread(COMMIT_BOUNDS);
  errors = 0;
  /** Of the whole process: its handle counts. */
  failedConnections = 0;
  /** Why the database could not be written; null while it can be. */
  #fault: StoreError | null = null;
  readonly #options: WriterOptions;
  #connection: Connection | null = null;
  #units: Unit[] = [];
  #doubtful: DoubtfulGroup | null = null;
  #deferred: SqlWrite[] = [];
  #deferTimer: Timer | null = null;
  #appendTimer: Timer | null = null;
  #isRunning = false;
  #isClosed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get isFailing(): boolean {
    return this.#fault !== null;
  }

  get waiting(): number {
    return this.#units.length;
  }

  commit(writes: readonly SqlWrite[]): Promise<void> {
    // Whoever waits for an answer is told at once: a try may take as long as a connection does.
    const refusal = this.#refusal() ?? this.#fault;
    if (refusal) return Promise.reject(refusal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#units.push({ writes, resolve, reject });
    this.#start();
    return promise;
  }

  append(writes: readonly SqlWrite[], droppable = false): void {
    const refusal = droppable || this.#isClosed ? this.#refusal() : null;
    if (refusal) {
      this.#options.onError(refusal);
      return;
    }
    this.#units.push({ writes, resolve: null, reject: null });
    this.#appendTimer ??= this.#options.timers.after(APPEND_DELAY_MS, () => this.#start());
  }

  defer(write: SqlWrite): void {
    this.#deferred.push(write);
    if (this.#isClosed || this.#deferred.length >= DEFERRED_MAX) this.#appendDeferred();
    else this.#deferTimer ??= this.#options.timers.after(DEFER_MS, () => this.#appendDeferred());
  }

  /** Resolves with whether all appends so far are written. */
  written(): Promise<boolean> {
    if (this.#units.length === 0 && !this.#isRunning) return Promise.resolve(true);
    return this.commit([]).then(
      () => true,
      () => false,
    );
  }

  async flush(): Promise<void> {
    this.#appendDeferred();
    if (this.#units.length > 0 || this.#isRunning) await this.commit([]);
  }

  /** Flushes, then refuses everything. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#isClosed = true;
      this.#appendTimer?.close();
      this.#deferTimer?.close();
      await this.#connection?.close();
    }
  }

  #refusal(): StoreError | null {
    if (this.#isClosed) return new StoreError('the store is closed', { reason: 'closed' });
    if (this.#units.length < UNITS_MAX) return null;
    this.errors++;
    return new StoreError(`${UNITS_MAX} writes are waiting for the database`, { reason: 'crowded' });
  }

  #appendDeferred(): void {
    this.#deferTimer?.close();
    this.#deferTimer = null;
    const writes = this.#deferred;
    this.#deferred = [];
    // Each alone, so that a bad one takes no other with it.
    for (const write of writes) this.append([write], true);
  }

  #start(): void {
    this.#appendTimer?.close();
    this.#appendTimer = null;
    if (this.#isRunning || this.#isClosed) return;
    this.#isRunning = true;
    // Behind the callers of this turn, whose writes share the transaction.
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    // A database that is away is tried until it is back, so that readiness comes back with it.
    while (!this.#isClosed && (this.#doubtful || this.#fault || this.#units.length > 0)) {
      if (this.#doubtful && !(await this.#resolveDoubt(this.#doubtful))) {
        await pause(this.#options.timers, RETRY_MS);
        continue;
      }
      const group = this.#units.splice(0, GROUP_MAX);
      this.#units = (await this.#write(group)).concat(this.#units);
      if (this.#fault) await pause(this.#options.timers, RETRY_MS);
    }
    this.#isRunning = false;
  }

  /** @returns the appends that the database could not take now. A bad unit is found by trying each apart. */
  async #write(units: readonly Unit[]): Promise<Unit[]> {
    const began = performance.now();
    try {
      await this.#transact(units);
      this.#fault = null;
      this.commits.observe((performance.now() - began) / 1_000);
      for (const unit of units) unit.resolve?.();
      return [];
    } catch (cause) {
      if (cause instanceof UnansweredCommit) {
        this.#connection = null;
        this.#doubtful = { units, doubt: cause.doubt, since: performance.now() };
        return [];
      }
      if (!OWN_FAULTS.has(faultOf(cause))) return this.#keep(units, cause);
      if (units.length > 1) return this.#writeEach(units);
      this.#refuse(units, cause);
      return [];
    }
  }

  async #writeEach(units: readonly Unit[]): Promise<Unit[]> {
    for (let at = 0; at < units.length; at++) {
      const left = await this.#write(units.slice(at, at + 1));
      if (left.length > 0 || this.#doubtful) {
        const rest = units.slice(at + 1);
        return this.#doubtful ? [...rest] : [...left, ...rest];
      }
    }
    return [];
  }

  async #transact(units: readonly Unit[]): Promise<void> {
    const writes = units.flatMap((unit) => unit.writes);
    let wasLost = false;
    for (let tries = 1; ; tries++) {
      const connection = await this.#connected();
      try {
        if (writes.length === 0) await requireWritable(connection);
        else await transact(connection, this.#options.dialect, writes, this.#options.fence());
        return;
      } catch (cause) {
        const isLost = isLoss(cause);
        if (isLost) this.#connection = null;
        // The COMMIT was not sent: nothing has happened. An idle connection may have been lost long ago.
        const isAgain = isLost ? !wasLost && !(cause instanceof UnansweredCommit) : isConflict(cause);
        if (!isAgain || tries === CONFLICTS_MAX) throw cause;
        wasLost ||= isLost;
      }
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#options.open();
    return this.#connection;
  }

  /** The database is away: commits are rejected, appends stay. */
  #keep(units: readonly Unit[], cause: unknown): Unit[] {
    const error = this.#failure('the database cannot be written', cause);
    if (!this.#fault) this.#options.onError(error);
    this.#fault = error;
    for (const unit of units) unit.reject?.(error);
    // Those that came meanwhile, too: nobody is to wait for a database that is away.
    this.#rejectWaiting(error);
    return units.filter(({ reject }) => reject === null);
  }

  #rejectWaiting(error: StoreError): void {
    for (const { reject } of this.#units) reject?.(error);
    this.#units = this.#units.filter(({ reject }) => reject === null);
  }

  #refuse(units: readonly Unit[], cause: unknown): void {
    const error = this.#failure('a write was refused', cause);
    for (const { reject } of units) {
      if (reject) reject(error);
      else this.#options.onError(error);
    }
  }

  #failure(what: string, cause: unknown): StoreError {
    this.errors++;
    return new StoreError(`${what}: ${faultText(cause)}`, { reason: faultOf(cause), cause });
  }

  /** @returns whether it is known now. Callers are told `unknown` in the end; appends wait until it is. */
  async #resolveDoubt({ units, doubt, since }: DoubtfulGroup): Promise<boolean> {
    try {
      const hasHappened = await outcomeOf(await this.#connected(), doubt);
      if (hasHappened !== null) {
        this.#doubtful = null;
        if (hasHappened) for (const unit of units) unit.resolve?.();
        else this.#units = [...units, ...this.#units];
        return true;
      }
    } catch {
      this.#connection = null;
    }
    if (performance.now() - since < (this.#options.doubtMs ?? DOUBT_MS)) return false;
    const lost = new StoreError('the connection broke before the database had answered', { reason: 'unknown' });
    this.#fault ??= new StoreError('the database cannot be reached');
    for (const { reject } of units) reject?.(lost);
    this.#rejectWaiting(this.#fault);
    this.#doubtful = { units: units.filter(({ reject }) => reject === null), doubt, since };
    return false;
  }
}

/** A standby answers, too. */
async function requireWritable(connection: Connection): Promise<void> {
  const { count } = await connection.run(`SELECT 1 WHERE current_setting('transaction_read_only') = 'off'`);
  if (count > 0) return;
  // It may have begun before the database took writes.
  void connection.close();
  throw new StoreError('it is a standby, or takes no writes');
}
