import { pause, type Timers } from '../../../core/timers.ts';
import type { LedgerOp, OpResult } from '../../books.ts';
import { StoreError, type StoreErrorReason, type Write } from '../../store.ts';
import type { AskedOp, CalledOps, WireAnswer, WireOp, WireResult } from './wire.ts';

/** Operations that are sent in one statement at most. */
const OPS_MAX = 2_000;
/** How long a group whose answer was lost is repeated, ms. Behind it, what it asked for is voided. */
const REPEAT_MS = 2_000;
/** Between two tries, ms. */
const RETRY_MS = 50;

/** Operations whose results count whatever becomes of the database: they are sent until it has them. */
const SURE: ReadonlySet<LedgerOp['kind']> = new Set(['post', 'settle', 'expire', 'void', 'attach', 'release', 'waive']);

/** Why a group was not decided. */
interface GroupFailure {
  readonly error: unknown;
  /** Whether it was sent before without an answer: it may have happened. */
  readonly isDoubtful: boolean;
}

/** A group that fails so fails for the sake of one call: what rides with it is not met, can never be written, or is locked by another. */
const OF_ONE: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet', 'busy']);

/** Operations of one call. */
interface Unit {
  readonly ops: readonly AskedOp[];
  /** Ride in the commit of the operations. */
  readonly also: readonly Write[];
  readonly isSure: boolean;
  /** Whether the spool has it, and its caller an answer. */
  readonly isKept: boolean;
  readonly resolve: (results: readonly OpResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a group needs of its books. */
export interface GroupParts {
  readonly timers: Timers;
  /** Gives a number to all that operations name. Rejects with StoreError. */
  name(ops: readonly AskedOp[]): Promise<void>;
  encode(asked: AskedOp): readonly WireOp[];
  /** @throws the error of an operation that is a mistake */
  decode(answer: WireAnswer): OpResult;
  /**
   * Decides calls, and writes what rides with them, all or nothing. Rejects with StoreError: with the reason `unknown` it may have
   * happened.
   */
  decide(calls: readonly CalledOps[]): Promise<WireResult>;
  /**
   * Puts operations, and what rides with them, where they outlive this process.
   * @returns their results; null where that cannot be
   */
  keep(ops: readonly LedgerOp[], also: readonly Write[]): readonly OpResult[] | null;
  /** Called once the database has all that was kept. */
  forget(): void;
  /** Called with what the database has answered, before the calls of its operations return. */
  take(result: WireResult, ops: readonly LedgerOp[]): void;
  /** Called once they have. */
  told(ops: readonly LedgerOp[], results: readonly OpResult[]): void;
}

const NOTHING: readonly Write[] = [];

/**
 * Sends operations in groups: while one statement is under way, all that comes waits for the next. So a group is as large as there is
 * to do, and a fund that everybody draws on is locked and written once for all of it. State: operations.
 */
export class OpGroups {
  readonly #parts: GroupParts;
  #units: Unit[] = [];
  /** Those that the statement under way decides. */
  #sent: readonly Unit[] = [];
  #isRunning = false;
  /** Whether all calls of this turn may still come into the group. */
  #isGathering = false;
  #isClosed = false;
  /** Whether the spool may have something. */
  #hasKept = false;
  /** Why the database could not be reached; null while it can be. */
  #fault: StoreError | null = null;
  /** Of those who wait for what the statement under way decides, and for what goes out behind it. */
  #sentIdle: PromiseWithResolvers<boolean> | null = null;
  #idle: PromiseWithResolvers<boolean> | null = null;
  /** Whether a part of what was sent waits again. */
  #hasReturned = false;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  /** As `LedgerBooks.apply`. */
  add(ops: readonly AskedOp[], also: readonly Write[] = NOTHING, mustReach = false): Promise<readonly OpResult[]> {
    if (this.#isClosed) return Promise.reject(new StoreError('the books are closed', { reason: 'closed' }));
    // Nobody waits for a database that is away: one try may take as long as a connection does.
    if (this.#fault && this.#isRunning && !this.#isGathering && !mustReach) return Promise.reject(this.#fault);
    const { promise, resolve, reject } = Promise.withResolvers<readonly OpResult[]>();
    this.#units.push({ ops, also, isSure: mustReach, isKept: false, resolve, reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  /** Resolves with true once all that was added is decided or kept; with false as soon as the database refuses and it is neither. */
  written(): Promise<boolean> {
    if (!this.#isRunning || this.#fault) return Promise.resolve(this.#areKept());
    // Behind what goes out next more may come without end.
    if (this.#units.length === 0) {
      this.#sentIdle ??= Promise.withResolvers();
      return this.#sentIdle.promise;
    }
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** Calls that are neither decided nor kept. */
  get unkept(): number {
    return [...this.#sent, ...this.#units].filter((unit) => !isTold(unit)).length;
  }

  /** What was not decided by now never is by this process. */
  close(): void {
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = this.#isGathering = true;
    // All calls of this turn are of one group.
    await null;
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
   * @param began when the group was sent first
   * @returns null once it is decided, or those of its calls that could not be have failed apart
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

  /** Calls that cannot be decided must not spoil those of others. */
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

  /** @returns the results, of those without one a grant of nothing */
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

  /** What can be refused has not happened, or is voided; the rest goes in front of all that waits. */
  #failed(units: readonly Unit[], { error, isDoubtful }: GroupFailure): void {
    const reason = error instanceof StoreError ? error.reason : null;
    const isHopeless = error instanceof RangeError || reason === 'refused';
    const isUnmet = reason === 'unmet';
    const again: Unit[] = [];
    for (const unit of units) {
      if (unit.isSure && unit.also.length > 0 && (isHopeless || isUnmet)) {
        // What rides with them cannot be written; they count nevertheless.
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

  /** Those who wait are told at once, with what comes until the database is back. */
  #isAway(error: unknown): void {
    const away =
      error instanceof StoreError ? error : new StoreError('the database cannot be reached', { cause: error });
    this.#fault = away.reason === 'unknown' ? new StoreError('the database cannot be reached') : away;
    for (const unit of this.#units) if (!unit.isSure) unit.reject(this.#fault);
    this.#units = this.#units.filter(({ isSure }) => isSure).map((unit) => this.#kept(unit));
  }

  /** What the spool keeps, its caller is told. */
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

/** Its holds are voided, and nobody is to ask for them again: what else it has may have happened. */
const unanswered = ({ ops }: Unit, cause: unknown): StoreError =>
  new StoreError('the connection broke before the database had answered', {
    reason: ops.every(({ op }) => isMaking(op)) ? 'broken' : 'unknown',
    cause,
  });

const isMaking = (op: LedgerOp): op is Extract<LedgerOp, { kind: 'hold' | 'earmark' }> =>
  op.kind === 'hold' || op.kind === 'earmark';

/** Whether no price is told of a unit that this process alone has: it voids what nobody was granted, or the spool has it. */
const isTold = ({ isKept, ops }: Unit): boolean => isKept || ops.every(({ op }) => op.kind === 'void');

/** A unit whose caller has its answer. */
const silent = (ops: readonly AskedOp[]): Unit => ({
  ...{ ops, also: NOTHING, isSure: true, isKept: false },
  ...{ resolve: () => {}, reject: () => {} },
});

/** An operation without an ID is named, so that a repeated one is done once. */
export const namedOnce = (op: LedgerOp): AskedOp =>
  op.kind === 'join' ? { op, name: `join ${crypto.randomUUID()}` } : { op };
