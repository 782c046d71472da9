declare const brand: unique symbol;

/** A write that a repository made, for a commit of the same store. Only the store sees its content. */
export interface Write {
  readonly [brand]?: never;
}

/**
 * A database. It commits the writes that its repositories make, and decides when they become durable. Asynchronous, and
 * takes batches, so that it can be behind a socket.
 */
export interface Store {
  /** Writes all or nothing; resolves once durable, rejects with StoreError when it could not be. Shares a commit with its neighbours in time. */
  commit(writes: readonly Write[]): Promise<void>;
  /**
   * Writes all or nothing, soon: rides with the next commit, a few milliseconds at most. Writes are done in
   * the order in which they were given, commits included. Never throws. Writes that a broken disk refuses are
   * kept and tried again; writes that break a rule are reported and dropped.
   * @param droppable whether it is reported and dropped, too, when too much waits for a broken disk.
   */
  append(writes: readonly Write[], droppable?: boolean): void;
  /**
   * Resolves with true once everything appended so far is written: it outlives this process from then on, and the machine a
   * few milliseconds later. Where the database refuses it, it is tried again: true, too, when the spool has its
   * settlements; false when neither has. Never rejects.
   */
  written(): Promise<boolean>;
  /** Resolves once all appends are durable. Rejects with StoreError if they cannot be written now. */
  flush(): Promise<void>;
  /** Flushes and closes. Rejects with StoreError when something appended was lost; the store is closed all the same. */
  close(): Promise<void>;
}

/** The part of a store that takes writes which may be lost with the process. */
export interface Deferral {
  /**
   * Appends a write some milliseconds later, together with others and behind what is given meanwhile; `flush` appends it at once.
   * Never throws. The write is dropped, and reported, when too much waits for a broken disk.
   */
  defer(write: Write): void;
}

/**
 * Why the store refused. `full`: the disk has no room. `busy`: another process keeps it locked. `denied`: it may not be
 * read or written. `damaged`: its bytes are no database. `newer`, `older`: another version of Signalbox wrote it.
 * `missing`: there is none. `fenced`: another server has taken it over, or its file is gone. `crowded`: too much waits to
 * be written. `closed`: this handle is closed. `unmet`: the condition of a conditional write was not met. `refused`: a
 * write breaks a rule of its table. `unknown`: its answer was lost, and it may have been written all the same. `broken`: anything else.
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

/** The disk or the database failed. Nothing of the rejected commit was written, but for the reason `unknown`. */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;

  constructor(message: string, { reason = 'broken', cause }: { reason?: StoreErrorReason; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreError';
    this.reason = reason;
  }
}

/** Whether a condition of a write was not met, so that nothing of its commit was written. */
export const isUnmet = (cause: unknown): boolean => cause instanceof StoreError && cause.reason === 'unmet';

/** Waits for a commit. @returns false if a condition of its writes was not met. Rejects as the commit does for other reasons */
export const isMet = (commit: Promise<unknown>): Promise<boolean> =>
  commit.then(
    () => true,
    (cause: unknown) => {
      if (isUnmet(cause)) return false;
      throw cause;
    },
  );

/** The spool of a store could not be written. The settlements that it should have taken are in memory alone. */
export class SpoolError extends StoreError {}
