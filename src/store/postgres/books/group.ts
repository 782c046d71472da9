import { pause, type Timers } from '../../../core/time/timers.ts';
import type { LedgerOp, OpResult } from '../../books.ts';
import { StoreError, type StoreErrorReason, type Write } from '../../store.ts';
import type { AskedOp, CalledOps, WireAnswer, WireOp, WireResult } from './wire.ts';

/** A group of operations accepts no further call once the group has this many operations. */
const OPS_MAX = 2_000;
/**
 * If the answer to a group is lost, the same group is sent again for this long, ms. If the group gets no answer within this time, the holds
 * of the group are voided.
 */
const REPEAT_MS = 2_000;
/** The pause between two attempts to send, ms. */
const RETRY_MS = 50;

/**
 * Operations that must reach the database, however long the database is unavailable. The process sends these operations again until the
 * database has them.
 */
const SURE: ReadonlySet<LedgerOp['kind']> = new Set(['post', 'settle', 'expire', 'void', 'attach', 'release', 'waive']);

/** The error with which a group failed. */
interface GroupFailure {
  readonly error: unknown;
  /** True if the group was sent before and its answer was lost: the database may have decided the group. */
  readonly isDoubtful: boolean;
}

/**
 * The reasons of a failed group that concern a single call: an attached write can never succeed, the condition of a write is false, or
 * another transaction has locked the row of a write. A group that fails for such a reason is split to find the call.
 */
const OF_ONE: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet', 'busy']);

/** The operations of a call, which succeed or fail together. */
interface Unit {
  readonly ops: readonly AskedOp[];
  /** Writes that PostgreSQL commits in the same transaction as the operations. */
  readonly also: readonly Write[];
  readonly isSure: boolean;
  /** True if the spool has the operations and the caller has the answer. */
  readonly isKept: boolean;
  readonly resolve: (results: readonly OpResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The functions of the books that `OpGroups` needs. */
export interface GroupParts {
  readonly timers: Timers;
  /**
   * Makes sure that every account, tariff and fund of the operations has an ID in the database.
   * @throws StoreError by rejecting
   */
  name(ops: readonly AskedOp[]): Promise<void>;
  encode(asked: AskedOp): readonly WireOp[];
  /** @throws RangeError or StoreError, if the answer says that the operation is a mistake or its condition is false */
  decode(answer: WireAnswer): OpResult;
  /**
   * Decides calls and writes their attached writes, all or nothing.
   * @throws StoreError by rejecting. With the reason `unknown`, the database may have decided the calls.
   */
  decide(calls: readonly CalledOps[]): Promise<WireResult>;
  /**
   * Stores operations and their attached writes in a place that survives a crash of this process.
   * @returns the results of the operations, or null if the operations cannot be stored
   */
  keep(ops: readonly LedgerOp[], also: readonly Write[]): readonly OpResult[] | null;
  /** A function that is called once the database has everything that `keep` has stored. */
  forget(): void;
  /** A function that is called with the answer of the database, before the calls of `ops` return. */
  take(result: WireResult, ops: readonly LedgerOp[]): void;
  /** A function that is called with the results after the calls of `ops` have received the results. */
  told(ops: readonly LedgerOp[], results: readonly OpResult[]): void;
}

const NOTHING: readonly Write[] = [];

/**
 * Sends operations to the database in groups. While a statement is in progress, new operations wait and form the next group. Under load,
 * groups of operations therefore grow, and the database locks and writes a popular fund only once per group instead of once per operation.
 * State: operations.
 */
export class OpGroups {
  readonly #parts: GroupParts;
  #units: Unit[] = [];
  /** The calls of the statement that is in progress. */
  #sent: readonly Unit[] = [];
  #isRunning = false;
  /** True until the end of this turn of the event loop: calls of the same turn join the first group. */
  #isGathering = false;
  #isClosed = false;
  /** True if the spool may contain operations that the database does not have. */
  #hasKept = false;
  /** Why the database could not be reached. Null while the database can be reached. */
  #fault: StoreError | null = null;
  /** Callers of `written` who wait for the statement in progress (`#sentIdle`), or for the group after it (`#idle`). */
  #sentIdle: PromiseWithResolvers<boolean> | null = null;
  #idle: PromiseWithResolvers<boolean> | null = null;
  /** True if some calls of the group in progress must be sent again. */
  #hasReturned = false;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  /**
   * Adds a call, as `LedgerBooks.apply` does.
   * @param mustReach true to send the operations again until the database has them
   */
  add(ops: readonly AskedOp[], also: readonly Write[] = NOTHING, mustReach = false): Promise<readonly OpResult[]> {
    if (this.#isClosed) return Promise.reject(new StoreError('the books are closed', { reason: 'closed' }));
    // While the database is unavailable, new calls fail at once, because an attempt to connect may take seconds.
    if (this.#fault && this.#isRunning && !this.#isGathering && !mustReach) return Promise.reject(this.#fault);
    const { promise, resolve, reject } = Promise.withResolvers<readonly OpResult[]>();
    this.#units.push({ ops, also, isSure: mustReach, isKept: false, resolve, reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  /**
   * Resolves with true once every call added so far is decided or in the spool. Resolves with false if the database fails and the spool
   * cannot take a call.
   */
  written(): Promise<boolean> {
    if (!this.#isRunning || this.#fault) return Promise.resolve(this.#areKept());
    // The method waits only for the group in progress: new calls may arrive without end, so an empty queue might never come.
    if (this.#units.length === 0) {
      this.#sentIdle ??= Promise.withResolvers();
      return this.#sentIdle.promise;
    }
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** The number of calls that are neither decided nor in the spool. */
  get unkept(): number {
    return [...this.#sent, ...this.#units].filter((unit) => !isTold(unit)).length;
  }

  /** Stops sending groups to the database. This process never decides the calls that are still waiting. */
  close(): void {
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = this.#isGathering = true;
    // Requests of one turn of the event loop arrive one after the other. Their calls form a single group, as in `GroupCommit`.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#isGathering = false;
    while (this.#units.length > 0 && !this.#isClosed) {
      const units = this.#next();
      this.#sent = units;
      this.#hasReturned = false;
      if (this.#units.length === 0) {
        this.#sentIdle = this.#idle;
        this.#idle = null;
      }
      const failure = await this.#send(units);
      this.#sent = [];
      if (failure) {
        this.#failed(units, failure);
        this.#tellIdle(this.#areKept());
        if (this.#units.length > 0) await pause(this.#parts.timers, RETRY_MS);
        continue;
      }
      this.#fault = null;
      this.#tellSent();
      if (this.#hasKept && !this.#units.some(({ isKept }) => isKept)) {
        this.#hasKept = false;
        this.#parts.forget();
      }
    }
    this.#isRunning = false;
    this.#tellIdle(this.#areKept());
  }

  #tellSent(): void {
    const sent = this.#sentIdle;
    this.#sentIdle = null;
    if (!this.#hasReturned) sent?.resolve(true);
    else if (sent) {
      this.#idle ??= Promise.withResolvers();
      void this.#idle.promise.then(sent.resolve);
    }
  }

  #areKept(): boolean {
    return this.unkept === 0;
  }

  #tellIdle(isDone: boolean): void {
    this.#sentIdle?.resolve(isDone);
    this.#idle?.resolve(isDone);
    this.#sentIdle = this.#idle = null;
  }

  #next(): readonly Unit[] {
    let ops = 0;
    let count = 0;
    while (count < this.#units.length && ops < OPS_MAX) ops += this.#units[count++]!.ops.length;
    return this.#units.splice(0, count);
  }

  /**
   * Sends a group again and again until the group is decided or fails.
   * @param began the time of the first attempt, ms
   * @returns null if the group was decided, or if it was split and every call that could not be decided has failed individually
   */
  async #send(units: readonly Unit[], began = performance.now(), isDoubtful = false): Promise<GroupFailure | null> {
    const asked = units.flatMap(({ ops }) => ops);
    for (;;) {
      try {
        await this.#parts.name(asked);
        await this.#decide(units, asked);
        return null;
      } catch (error) {
        const reason = error instanceof StoreError ? error.reason : null;
        const isLate = performance.now() - began > REPEAT_MS;
        isDoubtful ||= reason === 'unknown';
        if (reason && OF_ONE.has(reason) && units.length > 1 && !(isLate && reason === 'busy')) {
          await this.#sendHalves(units, began, isDoubtful);
          return null;
        }
        const isAgain = reason === 'unknown' || (isDoubtful && reason === 'broken');
        if (!isAgain || isLate) return { error, isDoubtful };
        await pause(this.#parts.timers, RETRY_MS);
      }
    }
  }

  /** Splits the group in two and sends each half, so that a call that cannot be decided does not fail the other calls. */
  async #sendHalves(units: readonly Unit[], began: number, isDoubtful: boolean): Promise<void> {
    const half = units.length >> 1;
    for (const part of [units.slice(0, half), units.slice(half)]) {
      const failure = await this.#send(part, began, isDoubtful);
      if (failure) this.#failed(part, failure);
    }
  }

  async #decide(units: readonly Unit[], asked: readonly AskedOp[]): Promise<void> {
    const calls = units.map(({ ops, also }) => ({ ops: ops.map((one) => this.#parts.encode(one)), also }));
    const result = await this.#parts.decide(calls);
    const ops = asked.map(({ op }) => op);
    this.#parts.take(result, ops);
    const told = units.flatMap((unit, at) => this.#answer(unit, calls[at]!.ops, result.answers[at]!));
    this.#parts.told(ops, told);
  }

  /**
   * Resolves the call of a unit with its results.
   * @returns the results. An operation without an answer counts as a grant of 0.
   */
  #answer(unit: Unit, encoded: readonly (readonly WireOp[])[], answers: readonly WireAnswer[]): readonly OpResult[] {
    let at = 0;
    try {
      const results = encoded.map(({ length }): OpResult => {
        const answer = answers[at];
        at += length;
        return length > 0 && answer ? this.#parts.decode(answer) : { kind: 'granted', amount: 0 };
      });
      unit.resolve(results);
      return results;
    } catch (error) {
      unit.reject(error);
      return unit.ops.map(() => ({ kind: 'granted', amount: 0 }));
    }
  }

  /**
   * Handles a group that failed. Operations that may be refused are rejected; if the database may have decided such operations, their holds
   * are voided. Operations that must reach the database return to the front of the queue.
   */
  #failed(units: readonly Unit[], { error, isDoubtful }: GroupFailure): void {
    const reason = error instanceof StoreError ? error.reason : null;
    const isHopeless = error instanceof RangeError || reason === 'refused';
    const isUnmet = reason === 'unmet';
    const again: Unit[] = [];
    for (const unit of units) {
      if (unit.isSure && unit.also.length > 0 && (isHopeless || isUnmet)) {
        // If the attached writes can never be written, the operations still count, so the operations are sent again without the writes.
        again.push(silent(unit.ops));
        unit.reject(error);
      } else if (isHopeless && !isDoubtful) unit.reject(error);
      else if (unit.isSure && !isHopeless) again.push(this.#kept(unit));
      else {
        const made = new Map(unit.ops.flatMap(({ op }) => (isMaking(op) ? [[op.id, op.at]] : [])));
        const kept = unit.ops.filter(({ op }) => SURE.has(op.kind) && !('id' in op && made.has(op.id as number)));
        if (kept.length > 0 && !isHopeless) again.push(this.#kept(silent(kept)));
        if (isDoubtful) again.push(silent([...made].map(([id, at]) => ({ op: { kind: 'void', id, at } }))));
        unit.reject(isDoubtful && !isHopeless && !isUnmet ? unanswered(unit, error) : error);
      }
    }
    const isLocked = reason === 'busy' && units.some(({ also }) => also.length > 0);
    if (!isHopeless && !isUnmet && !isLocked) this.#isAway(error);
    const returned = again.filter(({ ops, also }) => ops.length + also.length > 0);
    this.#hasReturned ||= returned.length > 0;
    this.#units.unshift(...returned);
  }

  /** Rejects all waiting calls that may be refused, and remembers the error, so that `add` rejects new calls until the database is back. */
  #isAway(error: unknown): void {
    const away =
      error instanceof StoreError ? error : new StoreError('the database cannot be reached', { cause: error });
    this.#fault = away.reason === 'unknown' ? new StoreError('the database cannot be reached') : away;
    for (const unit of this.#units) if (!unit.isSure) unit.reject(this.#fault);
    this.#units = this.#units.filter(({ isSure }) => isSure).map((unit) => this.#kept(unit));
  }

  /** If the spool stores the unit, the caller of the unit gets the results at once. */
  #kept(unit: Unit): Unit {
    if (unit.isKept) return unit;
    const ops = unit.ops.map(({ op }) => op);
    const results = this.#parts.keep(ops, unit.also);
    if (results === null) return unit;
    this.#hasKept = true;
    unit.resolve(results);
    return { ...unit, isKept: true };
  }
}

/**
 * The holds of the call are voided, so a caller that only requested holds learns that it has no hold (`broken`). If the call had other
 * operations, these may have happened (`unknown`).
 */
const unanswered = ({ ops }: Unit, cause: unknown): StoreError =>
  new StoreError('the connection broke before the database answered', {
    reason: ops.every(({ op }) => isMaking(op)) ? 'broken' : 'unknown',
    cause,
  });

const isMaking = (op: LedgerOp): op is Extract<LedgerOp, { kind: 'hold' | 'earmark' }> =>
  op.kind === 'hold' || op.kind === 'earmark';

/**
 * True if losing the unit would lose no charge that a caller knows: the spool has the unit, or the unit only voids holds that no caller
 * received.
 */
const isTold = ({ isKept, ops }: Unit): boolean => isKept || ops.every(({ op }) => op.kind === 'void');

/** A unit whose caller already has the answer. */
const silent = (ops: readonly AskedOp[]): Unit => ({
  ops,
  also: NOTHING,
  isSure: true,
  isKept: false,
  resolve: () => {},
  reject: () => {},
});
