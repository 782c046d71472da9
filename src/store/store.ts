/** A value that a database column can hold. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** A statement of a room. One object per statement: the store prepares each once. */
export interface Statement {
  readonly sql: string;
  /**
   * The name under which its appended writes go into the spool while the database refuses them; absent: they wait in memory and
   * are lost with the process. Their values must be numbers, texts or null. Never changed: the next version reads it, too.
   */
  readonly spooledAs?: string;
  /** Whether a run that changes no row fails its commit, with the reason `unmet`: for conditional writes. */
  readonly mustChange?: boolean;
}

export interface Write {
  readonly statement: Statement;
  readonly params: readonly SqlValue[];
}

/** The tables of one room, in versions; each runs once, in order. */
export interface Migrations {
  readonly room: string;
  readonly versions: readonly string[];
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
  /** Reads committed rows. Rejects with StoreError. */
  query<Row>(statement: Statement, params?: readonly SqlValue[]): Promise<Row[]>;
  /** Changes whenever somebody else has committed: another process, or another handle. Own commits do not change it. Cheap. */
  version(): Promise<number>;
  /** Resolves once everything appended is durable, rejects with StoreError when it could not be made so now. */
  flush(): Promise<void>;
  /** Flushes and closes. Rejects with StoreError when something appended was lost; the store is closed all the same. */
  close(): Promise<void>;
}

/**
 * Why the store refused. `full`: the disk has no room. `busy`: another process keeps it locked. `denied`: it may not be
 * read or written. `damaged`: its bytes are no database. `newer`, `older`: another version of Signalbox wrote it.
 * `missing`: there is none. `fenced`: another server has taken it over, or its file is gone. `crowded`: too much waits to
 * be written. `closed`: this handle is closed. `unmet`: the condition of a conditional write was not met. `refused`: a
 * write breaks a rule of its table. `broken`: anything else.
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
  | 'broken';

/** The disk or the database failed. Nothing of the rejected commit was written. */
export class StoreError extends Error {
  readonly reason: StoreErrorReason;

  constructor(message: string, { reason = 'broken', cause }: { reason?: StoreErrorReason; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreError';
    this.reason = reason;
  }
}

/** The spool of a store could not be written. The settlements that it should have taken are in memory alone. */
export class SpoolError extends StoreError {}
