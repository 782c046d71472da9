import type { Microcredits } from '../core/credits.ts';
import type { Timers } from '../core/timers.ts';
import type { StoreActivity } from './activity.ts';
import type { LedgerBooks } from './books.ts';
import type { Instance } from './instance.ts';
import type { LeaderTable } from './leaders.ts';
import type { News } from './news.ts';
import type { RateStore } from './rates.ts';
import type { Repositories } from './repositories.ts';
import type { Deferral, Store, StoreError } from './store.ts';

/** A room: a group of tables that belong together and are versioned together. */
export type StoreRoom =
  | 'access'
  | 'alerts'
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
  /** This process as one of the servers that use the store; `NO_INSTANCE` for a command. */
  readonly instance: Instance;
  readonly news: News;
  /** The work that one instance does for all; null if no other server shares the store. */
  readonly leaders: LeaderTable | null;
  /** The rate limits that instances share; null if no other server shares the store. */
  readonly rates: RateStore | null;
  /** Number of appended writes that should survive the process, but that neither the store nor its spool has. */
  readonly unkept: number;
  /**
   * Opens the books. Only this process may have them open.
   * @param now ms since 1970
   * @throws an Error with one clear sentence, by rejecting, if the books are damaged
   */
  openBooks(now: () => number): Promise<LedgerBooks>;
}

/** A store as it is at one moment, for reading only. Leaving the scope of a `using` declaration closes it. */
export interface StoreReader extends Repositories, Disposable {
  /** Compares a spool with this store. @throws an Error with one clear sentence, by rejecting, if the spool does not belong to the store */
  unbooked(spool: SpoolSettlements): Promise<UnbookedSettlements>;
  close(): void;
}

/** A lock that one process has on a store. It keeps other servers out. */
export interface StoreLock {
  release(): void;
}

/** The settlements read from a spool. Only a reader of the same driver can interpret their content. */
export interface SpoolSettlements {
  /** The path of the spool, as the caller gave it. */
  readonly path: string;
  /** The generation of the spool's entries. It grows each time that the spool is emptied. 0: there is no spool. */
  readonly generation: number;
  /** The number of complete entries. */
  readonly entries: number;
}

/** Notes kept outside the spool about how far the spool was filled. With them a start can detect that entries have vanished. */
export interface SpoolNotes {
  /** The last generation that was noted; 0 for none. */
  readonly generation: number;
  /**
   * Notes the number of complete entries of a generation, or that the spool is empty. The note is on the disk when this returns, even if
   * the disk is full. Throws the system's error.
   * @param entries 0 before the first entry; null: the spool is empty
   */
  note(generation: number, entries: number | null): void;
}

/** The settlements of a spool that its store does not have yet. */
export interface UnbookedSettlements {
  /** IDs of the holds that these settlements close. */
  readonly closed: readonly number[];
  /** The sum of their charges in microcredits, including failed attempts. */
  readonly charged: Microcredits;
}

/** The settlements that the store booked, when it was opened, from the spool of an earlier run. */
export interface SpoolReport extends UnbookedSettlements {
  /** Whether the last entry of the spool was incomplete, and therefore ignored. */
  readonly isTorn: boolean;
}

export interface OpenOptions {
  /**
   * `serve`: for the server. Migrates all tables, and fences off any server that has the store open. `repair`: for a command that holds the
   * lock of the store. Migrates the tables of `rooms`. `beside`: for a command that runs while a server may run. Refuses tables of `rooms`
   * that have another version.
   */
  readonly mode: 'serve' | 'repair' | 'beside';
  /** The rooms whose tables the caller uses. The mode `serve` uses all. */
  readonly rooms?: readonly StoreRoom[];
  /** Called for each lost append, and once each time the disk begins to fail. */
  readonly onError?: (error: StoreError) => void;
  /** For the mode `serve`: the version of Signalbox, which the store records with tables that it creates. */
  readonly program?: string;
  /** For the mode `serve`: path of the file that takes settlements while the store refuses them. */
  readonly spool?: string;
  /** Where the notes about the spool are kept; absent: nowhere. */
  readonly spoolNotes?: SpoolNotes;
  /** Called once with the settlements that the store booked from the spool of an earlier run. */
  readonly onSpool?: (report: SpoolReport) => void;
  /** For the mode `serve`: called once if all server slots are taken. The start then waits for a slot. Absent: the start fails. */
  readonly onFull?: () => void;
  /** Called once if a shared store is refused permanently, with the reason in one sentence. */
  readonly onRefused?: (problem: string) => void;
  /**
   * For the mode `serve`: returns whole ms since 1970, never decreasing. A store without its own clock uses it. Absent: the system's clock.
   */
  readonly now?: () => number;
  /** Returns ms of a monotonic clock. A shared store uses it to measure its lease and the age of copies. Absent: the process's clock. */
  readonly clock?: () => number;
  /** How long a write waits for another process, ms. This process does nothing else during the wait. */
  readonly busyTimeoutMs?: number;
  /** Timers for delayed writes and retries; the process's timers unless given. */
  readonly timers?: Timers;
}

/** The versions of a store's tables. */
export interface TablesState {
  /** The version of the store's tables; 0 if there are none. */
  readonly version: number;
  /** The table version that this program is written for. */
  readonly known: number;
  /** The program version that created or migrated them to this version; null if that is not recorded. */
  readonly program: string | null;
  /** Programs written for this version or a later one can use the tables. */
  readonly serves: number;
}

/** One kind of database. `open.ts` selects it by the scheme of the URL. Each method rejects with a StoreError of one clear sentence. */
export interface StoreDriver {
  /**
   * Opens a store for writing and creates it if it is missing. The error's reason is `newer` or `older` if the tables have another version.
   */
  open(url: string, options: OpenOptions): Promise<OpenStore>;
  /**
   * Opens an existing store for reading, even while a server runs. All reads see the same moment.
   * @param rooms the rooms to read. The method refuses tables that a newer version of Signalbox wrote.
   */
  read(url: string, rooms: readonly StoreRoom[]): Promise<StoreReader>;
  /** Resolves with whether a store exists. Creates none. */
  exists(url: string): Promise<boolean>;
  /** Reads the versions of a store's tables. Creates no store. */
  tables(url: string): Promise<TablesState>;
  /**
   * Migrates the tables to this version, or creates them, as a server does at its start.
   * @param program the version of Signalbox
   * @returns the number of versions that were applied
   */
  migrate(url: string, program: string): Promise<number>;
  /**
   * Records the operator's confirmation that servers may use a store again although it may have lost acknowledged writes, for example after
   * a failover. Resolves with false if it was already confirmed, and with null for a kind of store that has no failover.
   */
  accept(url: string): Promise<boolean | null>;
  /** Copies an existing store, as it is at one moment, to a new SQLite file, even while a server runs. Never overwrites a file. */
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
  /** @returns the number of settlements in a spool; undefined if it cannot be read, because another server may have taken it over */
  settlementsIn(path: string): number | undefined;
}
