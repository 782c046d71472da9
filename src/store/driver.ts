import type { Microcredits } from '../core/money/credits.ts';
import type { Timers } from '../core/time/timers.ts';
import type { StoreActivity } from './activity.ts';
import type { LedgerBooks } from './books.ts';
import type { Instance } from './instance.ts';
import type { LeaderTable } from './leaders.ts';
import type { News } from './news.ts';
import type { RateStore } from './rates.ts';
import type { Repositories } from './repositories.ts';
import type { Deferral, Store, StoreError } from './store.ts';

/** A room: a namespace of the store. Its tables belong together and are versioned together. */
export type StoreRoom =
  | 'access'
  | 'alerts'
  | 'cache'
  | 'conversations'
  | 'endpoints'
  | 'idempotency'
  | 'identity'
  | 'instances'
  | 'learning'
  | 'ledger'
  | 'logins'
  | 'news'
  | 'payments'
  | 'people'
  | 'policies'
  | 'records'
  | 'subjects'
  | 'threads'
  | 'traffic';

/** An open store with its repositories. */
export interface OpenStore extends Store, Deferral, Repositories {
  readonly activity: StoreActivity;
  /** This process as one of the servers that use the store; `NO_INSTANCE` for the process of a command. */
  readonly instance: Instance;
  readonly news: News;
  /** The jobs that a single instance does for all instances; null if no other server shares the store. */
  readonly leaders: LeaderTable | null;
  /** The rate limits that instances share; null if no other server shares the store. */
  readonly rates: RateStore | null;
  /** The number of appended writes that should survive the process, but that are neither in the store nor in the spool. */
  readonly unkept: number;
  /**
   * Opens the books. Only this process may have the books open.
   * @param now ms since 1970
   * @throws an Error with one clear sentence, by rejecting, if the books are damaged
   */
  openBooks(now: () => number): Promise<LedgerBooks>;
}

/** A consistent snapshot of a store, for reading only. At the end of the scope of its `using` declaration, the snapshot is closed. */
export interface StoreReader extends Repositories, Disposable {
  /** Compares a spool with this store. @throws an Error with one clear sentence, by rejecting, if the spool does not belong to the store */
  unbooked(spool: SpoolSettlements): Promise<UnbookedSettlements>;
  close(): void;
}

/** A lock that a process has on a store, so that other servers cannot use the store. */
export interface StoreLock {
  release(): void;
}

/** The settlements read from a spool. Only a reader of the same driver can interpret the content of the settlements. */
export interface SpoolSettlements {
  /** The path of the spool, as the caller gave it. */
  readonly path: string;
  /** The generation of the spool's entries. It grows each time that the spool is emptied. 0: there is no spool. */
  readonly generation: number;
  /** The number of complete entries. */
  readonly entries: number;
}

/**
 * Notes kept outside the spool about how far the spool was filled. With these notes, a starting server can detect that entries of the spool
 * have vanished.
 */
export interface SpoolNotes {
  /** The last generation that was noted; 0 for none. */
  readonly generation: number;
  /**
   * Notes the number of complete entries of a generation, or that the spool is empty. The note is on the disk when this method returns,
   * even if the disk is full. Throws the system's error.
   * @param entries 0 before the first entry; null: the spool is empty
   */
  note(generation: number, entries: number | null): void;
}

/** The settlements in a spool that are not yet in the store. */
export interface UnbookedSettlements {
  /** The IDs of the holds that settlements in the spool close. */
  readonly closed: readonly number[];
  /** The sum of the settlements' charges in microcredits, including failed attempts. */
  readonly charged: Microcredits;
}

/** The settlements that the store booked from the spool of an earlier run when the store was opened. */
export interface SpoolReport extends UnbookedSettlements {
  /** Whether the last entry of the spool was incomplete, and therefore ignored. */
  readonly isTorn: boolean;
}

export interface OpenOptions {
  /**
   * `serve`: for a server; opening the store migrates all tables, and fences off any server that has the store open. `repair`: for a
   * command that holds the lock of the store; opening the store migrates the tables of `rooms`. `beside`: for a command that runs while a
   * server may run; opening the store fails if tables of `rooms` have another version.
   */
  readonly mode: 'serve' | 'repair' | 'beside';
  /** The rooms whose tables the caller uses. The mode `serve` uses all rooms. */
  readonly rooms?: readonly StoreRoom[];
  /** A function that is called for each lost append, and once each time the disk begins to fail. */
  readonly onError?: (error: StoreError) => void;
  /** For the mode `serve`: the version of Signalbox, which the store records together with the tables that the store creates. */
  readonly program?: string;
  /** For the mode `serve`: the path of the file to which settlements are written while the store refuses settlements. */
  readonly spool?: string;
  /** Where the notes about the spool are kept; absent if no notes are kept. */
  readonly spoolNotes?: SpoolNotes;
  /** A function that is called once with the settlements that the store booked from the spool of an earlier run. */
  readonly onSpool?: (report: SpoolReport) => void;
  /**
   * For the mode `serve`: a function that is called once if all server slots are taken; the starting server then waits for a slot. If the
   * function is absent, the start fails.
   */
  readonly onFull?: () => void;
  /** A function that is called once if a shared store is refused permanently, with the reason in one sentence. */
  readonly onRefused?: (problem: string) => void;
  /**
   * For the mode `serve`: a clock that returns whole ms since 1970 and never decreases. A store without its own clock uses this clock. If
   * absent, the store uses the system's clock.
   */
  readonly now?: () => number;
  /**
   * Returns ms of a monotonic clock. A shared store uses this clock to measure its lease and the age of copies. If absent, the store uses
   * the process's clock.
   */
  readonly clock?: () => number;
  /** How long a write waits for another process, ms. The whole process is blocked during this wait. */
  readonly busyTimeoutMs?: number;
  /** Timers for delayed writes and retries; by default the timers of the process. */
  readonly timers?: Timers;
}

/** The versions of a store's tables. */
export interface TablesState {
  /** The version of the store's tables; 0 if there are none. */
  readonly version: number;
  /** The table version that this program is written for. */
  readonly known: number;
  /** The version of the program that created or migrated the tables; null if that version is not recorded. */
  readonly program: string | null;
  /** Programs written for this version or a later one can use the tables. */
  readonly serves: number;
  /** A version of Signalbox that can use the tables, as all later ones can; null if it is not recorded. */
  readonly servesProgram: string | null;
}

/** The result of an examination of a database. */
export interface StoreExamination {
  /** The database program with its version, such as `PostgreSQL 16.2`. */
  readonly engine: string;
  /** Damage, and settings with which commits could get lost: a clause for each. */
  readonly faults: readonly string[];
  /** How many tables were read completely, and how many there are. Null for a database server, which other processes use, too. */
  readonly tables: { readonly read: number; readonly all: number } | null;
  /** The connections of the database server that are in use, and the most that it accepts; null for a file. */
  readonly connections: { readonly used: number; readonly most: number } | null;
}

/**
 * A driver for a kind of database. `open.ts` selects the driver by the scheme of the URL. Each method of a driver rejects with a StoreError
 * of one clear sentence.
 */
export interface StoreDriver {
  /**
   * Opens a store for writing, and creates the store if it is missing. The error's reason is `newer` or `older` if the tables have another
   * version.
   */
  open(url: string, options: OpenOptions): Promise<OpenStore>;
  /**
   * Opens an existing store for reading, even while a server runs. All reads of the opened store see the same moment.
   * @param rooms the rooms to read. The method refuses tables that a newer version of Signalbox wrote.
   */
  read(url: string, rooms: readonly StoreRoom[]): Promise<StoreReader>;
  /** Resolves with whether a store exists, and never creates a store. */
  exists(url: string): Promise<boolean>;
  /** Reads the versions of a store's tables. This method creates no store. */
  tables(url: string): Promise<TablesState>;
  /**
   * Looks for damage and unsafe settings, while servers use the store. The examination of a file reads table after table, and starts no
   * other table after `withinMs`.
   */
  examine(url: string, withinMs: number): Promise<StoreExamination>;
  /**
   * Migrates the tables to this version, or creates them, as a server does at its start.
   * @param program the version of Signalbox
   * @returns the number of versions that were applied
   */
  migrate(url: string, program: string): Promise<number>;
  /**
   * Records the operator's confirmation that servers may use a store again although it may have lost acknowledged writes, for example after
   * a failover. Resolves with false if an operator has already confirmed this, and with null for a kind of store that has no failover.
   */
  accept(url: string): Promise<boolean | null>;
  /** Copies a consistent state of an existing store to a new SQLite file, even while a server runs. The copy never overwrites a file. */
  copy(url: string, target: string): Promise<void>;
  /**
   * Locks a store for this process until `release` or until the process ends. The error's reason is `busy` if another process has the lock.
   * @param how `alone`: also fail if servers run that could share the store
   */
  lock(url: string, how?: 'alone'): Promise<StoreLock>;
  /** Resolves with whether another process, such as a server, has locked the store. */
  isLocked(url: string): Promise<boolean>;
  /** Returns the location of a store for messages, without its password. */
  placeOf(url: string): string;
  /** Reads a spool. A spool that does not exist counts as empty. @throws an Error with one clear sentence if the spool is damaged */
  readSpool(path: string): SpoolSettlements;
  /**
   * @returns the number of settlements in a spool; undefined if the spool cannot be read, because another server may have taken over the
   * spool
   */
  settlementsIn(path: string): number | undefined;
}
