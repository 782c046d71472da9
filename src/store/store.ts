declare const brand: unique symbol;

/** A write that a repository made, to be committed by the same store. Only the store knows the content of a write. */
export interface Write {
  readonly [brand]?: never;
}

/**
 * A database that commits the writes of its repositories and decides when they become durable. The methods of a store are asynchronous and
 * accept batches, so that the database can be on another machine.
 */
export interface Store {
  /**
   * Commits all writes or none. The promise resolves once the writes are durable, and rejects with StoreError if the commit failed. Calls
   * that come close together share a transaction.
   */
  commit(writes: readonly Write[]): Promise<void>;
  /**
   * Appends writes, which are written all or not at all with the next commit, at most a few milliseconds later. All writes, including
   * commits, are written in the order of the calls. The method never throws. Writes that a broken disk refuses are kept and retried. Writes
   * that break a rule of a table are reported and dropped.
   * @param droppable whether the write is also reported and dropped if too many writes wait for a broken disk
   */
  append(writes: readonly Write[], droppable?: boolean): void;
  /**
   * Resolves with true once everything appended so far is written. Written appends survive the end of this process, and a few milliseconds
   * later also a crash of the machine. While the database refuses appends, the store retries them, and the promise resolves with whether
   * the spool has the settlements in these appends. Never rejects.
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
   * Appends a write some milliseconds later, together with other deferred writes and after writes that arrive before then. A call of
   * `flush` appends the write at once. The method never throws. If too many writes wait for a broken disk, the write is reported and
   * dropped.
   */
  defer(write: Write): void;
}

/**
 * Why the store refused. `full`: the disk has no room. `busy`: another process has locked the store. `denied`: reading or writing is not
 * permitted. `damaged`: the bytes of the file are not a valid database. `newer`, `older`: another version of Signalbox wrote the store.
 * `missing`: the store does not exist. `fenced`: another server has taken over the store, or its file is gone. `crowded`: too many writes
 * are waiting. `closed`: this handle of the store is closed. `unmet`: the condition of a conditional write was not satisfied. `refused`: a
 * write breaks a rule of its table. `unknown`: the answer was lost, so the write may have succeeded. `broken`: any other fault.
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

/**
 * The error of a disk or a database that failed. No write of the rejected commit was written, except possibly with the reason `unknown`.
 */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;

  constructor(message: string, { reason = 'broken', cause }: { reason?: StoreErrorReason; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreError';
    this.reason = reason;
  }
}

/** Whether a condition of a write was not satisfied, so that no write of the commit was written. */
export const isUnmet = (cause: unknown): boolean => cause instanceof StoreError && cause.reason === 'unmet';

/**
 * Waits for a commit. For other reasons, rejects like the commit. @returns false if a condition of the commit's writes was not satisfied
 */
export const isMet = (commit: Promise<unknown>): Promise<boolean> =>
  commit.then(
    () => true,
    (cause: unknown) => {
      if (isUnmet(cause)) return false;
      throw cause;
    },
  );

/** The error of a spool that could not be written. The settlements that the spool should have stored exist only in memory. */
export class SpoolError extends StoreError {}

/**
 * Why a database with the tables of a build before the first release is refused, and what to do.
 * @param tables the version of its tables
 */
export const unreleasedText = (tables: string): string =>
  `a build from before the first release wrote it (${tables}), and no release can use it: export its charges with that build (\`signalbox ledger export\`), then start with a new data folder or an empty database`;
