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

/** A group that fails so fails for the sake of one call: what rides with it is not met, can never be written, or is locked by another. */
const OF_ONE: ReadonlySet<StoreErrorReason> = new Set(['refused', 'unmet', 'busy']);

/** Operations of one call. */
interface Unit {
  readonly ops: readonly AskedOp[];
  /** Ride in the commit of the operations. */
  readonly also: readonly Write[];
  readonly isSure: boolean;
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
  /** Called with what the database has answered, before the calls of its operations return. */
  take(result: WireResult, ops: readonly LedgerOp[]): void;
  /** Called once they have. */
  told(ops: readonly LedgerOp[]): void;
}

const NOTHING: readonly Write[] = [];

/**
 * Sends operations in groups: while one statement is under way, all that comes waits for the next. So a group is as large as there is
 * to do, and a fund that everybody draws on is locked and written once for all of it. State: operations.
 */
export class OpGroups {
  readonly #parts: GroupParts;
  #units: Unit[] = [];
  #isRunning = false;
  #isClosed = false;
  /** Whether the last statement failed. */
  isFailing = false;
  #idle: PromiseWithResolvers<boolean> | null = null;

  constructor(parts: GroupParts) {
    this.#parts = parts;
  }

  /** As `LedgerBooks.apply`. */
  add(ops: readonly AskedOp[], also: readonly Write[] = NOTHING, mustReach = false): Promise<readonly OpResult[]> {
    if (this.#isClosed) return Promise.reject(new StoreError('the books are closed', { reason: 'closed' }));
    const { promise, resolve, reject } = Promise.withResolvers<readonly OpResult[]>();
    this.#units.push({ ops, also, isSure: mustReach, resolve, reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  /** Resolves with true once all that was added is decided; with false as soon as the database refuses. */
  written(): Promise<boolean> {
    if (!this.#isRunning) return Promise.resolve(this.#units.length === 0);
    if (this.isFailing) return Promise.resolve(false);
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** What was not decided by now never is by this process. */
  close(): void {
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // All calls of this turn are of one group.
    await null;
    while (this.#units.length > 0 && !this.#isClosed) {
      const units = this.#next();
      try {
        await this.#send(units);
        this.isFailing = false;
      } catch (error) {
        this.#failed(units, error);
        this.#tellIdle(false);
        if (this.#units.length > 0) await pause(this.#parts.timers, RETRY_MS);
      }
    }
    this.#isRunning = false;
    this.#tellIdle(this.#units.length === 0);
  }

  #tellIdle(isDone: boolean): void {
    this.#idle?.resolve(isDone);
    this.#idle = null;
  }

  #next(): readonly Unit[] {
    let ops = 0;
    let count = 0;
    while (count < this.#units.length && ops < OPS_MAX) ops += this.#units[count++]!.ops.length;
    return this.#units.splice(0, count);
  }

  /** @param began when the group was sent first */
  async #send(units: readonly Unit[], began = performance.now()): Promise<void> {
    const asked = units.flatMap(({ ops }) => ops);
    for (;;) {
      try {
        await this.#parts.name(asked);
        await this.#decide(units);
        return;
      } catch (error) {
        const reason = error instanceof StoreError ? error.reason : 'broken';
        const isLate = performance.now() - began > REPEAT_MS;
        if (OF_ONE.has(reason) && units.length > 1 && !(isLate && reason === 'busy')) {
          await this.#sendHalves(units, began);
          return;
        }
        if (reason !== 'unknown' || isLate) throw error;
        await pause(this.#parts.timers, RETRY_MS);
      }
    }
  }

  /** Calls that cannot be decided must not spoil those of others. */
  async #sendHalves(units: readonly Unit[], began: number): Promise<void> {
    const half = units.length >> 1;
    for (const part of [units.slice(0, half), units.slice(half)]) {
      try {
        await this.#send(part, began);
      } catch (error) {
        this.#failed(part, error);
      }
    }
  }

  async #decide(units: readonly Unit[]): Promise<void> {
    const encoded = units.map(({ ops }) => ops.map((asked) => this.#parts.encode(asked)));
    const result = await this.#parts.decide(units.map(({ also }, at) => ({ ops: encoded[at]!.flat(), also })));
    const ops = units.flatMap((unit) => unit.ops.map(({ op }) => op));
    this.#parts.take(result, ops);
    for (const [at, unit] of units.entries()) this.#answer(unit, encoded[at]!, result.answers[at]!);
    this.#parts.told(ops);
  }

  #answer(unit: Unit, encoded: readonly (readonly WireOp[])[], answers: readonly WireAnswer[]): void {
    let at = 0;
    try {
      const results = encoded.map(({ length }): OpResult => {
        const answer = answers[at];
        at += length;
        return length > 0 && answer ? this.#parts.decode(answer) : { kind: 'granted', amount: 0 };
      });
      unit.resolve(results);
    } catch (error) {
      unit.reject(error);
    }
  }

  /** What can be refused has not happened; the rest goes in front of all that waits. */
  #failed(units: readonly Unit[], error: unknown): void {
    this.isFailing = true;
    const reason = error instanceof StoreError ? error.reason : null;
    const isUnknown = reason === 'unknown';
    const isHopeless = error instanceof RangeError || reason === 'refused';
    const again: Unit[] = [];
    for (const unit of units) {
      if (unit.isSure && unit.also.length > 0 && (isHopeless || reason === 'unmet')) {
        // What rides with them cannot be written; they count nevertheless.
        again.push(silent(unit.ops));
        unit.reject(error);
      } else if (isHopeless) unit.reject(error);
      else if (unit.isSure) again.push(unit);
      else {
        const made = new Set(unit.ops.flatMap(({ op }) => (isMaking(op) ? [op.id] : [])));
        const kept = unit.ops.filter(({ op }) => SURE.has(op.kind) && !('id' in op && made.has(op.id as number)));
        if (kept.length > 0) again.push(silent(kept));
        if (isUnknown) again.push(silent([...made].map((id) => ({ op: { kind: 'void', id, at: 0 } }))));
        unit.reject(error);
      }
    }
    this.#units.unshift(...again.filter(({ ops }) => ops.length > 0));
  }
}

const isMaking = (op: LedgerOp): op is Extract<LedgerOp, { kind: 'hold' | 'earmark' }> =>
  op.kind === 'hold' || op.kind === 'earmark';

/** A unit whose caller has its answer. */
const silent = (ops: readonly AskedOp[]): Unit => ({
  ops,
  also: NOTHING,
  isSure: true,
  resolve: () => {},
  reject: () => {},
});

/** An operation without an ID is named, so that a repeated one is done once. */
export const namedOnce = (op: LedgerOp): AskedOp =>
  op.kind === 'join' ? { op, name: `join ${crypto.randomUUID()}` } : { op };
