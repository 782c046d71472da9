declare const brand: unique symbol;

/** A write that a repository made, to be committed by the same store. Only the store knows its content. */
export interface Write {
  readonly [brand]?: never;
}

/**
 * A database that commits the writes of its repositories and decides when they become durable. Its methods are asynchronous and take
 * batches, so that the database can be on another machine.
 */
export interface Store {
  /**
   * Writes all or nothing. Resolves once the writes are durable; rejects with StoreError if that failed. Calls that come close together
   * share a transaction.
   */
  commit(writes: readonly Write[]): Promise<void>;
  /**
   * Writes all or nothing a little later: with the next commit, at most a few milliseconds from now. All writes, including commits, are
   * written in the order of the calls. Never throws. Writes that a broken disk refuses are kept and retried. Writes that break a rule of a
   * table are reported and dropped.
   * @param droppable whether the write is also reported and dropped if too many writes wait for a broken disk
   */
  append(writes: readonly Write[], droppable?: boolean): void;
  /**
   * Resolves with true once everything appended so far is written. It then survives the end of this process, and a few milliseconds later
   * also a crash of the machine. While the database refuses it, it is retried: this then resolves with whether the spool has its
   * settlements. Never rejects.
   */
  written(): Promise<boolean>;
  /** Resolves once all appends are durable. Rejects with StoreError if they cannot be written now. */
  flush(): Promise<void>;
  /** Flushes and closes. Rejects with StoreError if an append was lost; the store is closed even then. */
  close(): Promise<void>;
}

/** The part of a store that takes writes which may be lost if the process crashes. */
export interface Deferral {
  /**
   * Appends a write some milliseconds later, together with other deferred writes and after writes that arrive before then. `flush` appends
   * it at once. Never throws. If too many writes wait for a broken disk, the write is reported and dropped.
   */
  defer(write: Write): void;
}

/**
 * Why the store refused. `full`: the disk has no room. `busy`: another process has locked it. `denied`: reading or writing is not
 * permitted. `damaged`: its bytes are not a valid database. `newer`, `older`: another version of Signalbox wrote it. `missing`: it does not
 * exist. `fenced`: another server has taken it over, or its file is gone. `crowded`: too many writes are waiting. `closed`: this handle is
 * closed. `unmet`: the condition of a conditional write was not satisfied. `refused`: a write breaks a rule of its table. `unknown`: the
 * answer was lost, so the write may have succeeded. `broken`: anything else.
 */
export type StoreErrorReason =
  | 'full'
  | 'busy'
  | 'denied'
  | 'damaged'
  | 'newer'
  | 'older'
  | 'missing'
  | 'fenced'
  | 'crowded'
  | 'closed'
  | 'unmet'
  | 'refused'
  | 'unknown'
  | 'broken';

/** The disk or the database failed. Nothing of the rejected commit was written, except possibly with the reason `unknown`. */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;

  constructor(message: string, { reason = 'broken', cause }: { reason?: StoreErrorReason; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreError';
    this.reason = reason;
  }
}

/** Whether a condition of a write was not satisfied, so that nothing of its commit was written. */
export const isUnmet = (cause: unknown): boolean => cause instanceof StoreError && cause.reason === 'unmet';

/** Waits for a commit. @returns false if a condition of its writes was not satisfied. Rejects like the commit for other reasons. */
export const isMet = (commit: Promise<unknown>): Promise<boolean> =>
  commit.then(
    () => true,
    (cause: unknown) => {
      if (isUnmet(cause)) return false;
      throw cause;
    },
  );

/** The spool could not be written. The settlements that it should have taken exist only in memory. */
export class SpoolError extends StoreError {}
