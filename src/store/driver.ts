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

/** A room whose tables a store has. */
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

/** A store with its repositories. */
export interface OpenStore extends Store, Deferral, Repositories {
  readonly activity: StoreActivity;
  /** This process among the servers of the store. A command is none: `NO_INSTANCE`. */
  readonly instance: Instance;
  readonly news: News;
  /** The work that one instance does for all; null where no other process decides by the store. */
  readonly leaders: LeaderTable | null;
  /** The limits that instances share; null where no other process decides by the store. */
  readonly rates: RateStore | null;
  /** Appends that should outlive the process, and that neither the store nor its spool has. */
  readonly unkept: number;
  /**
   * Opens the books for this one process.
   * @param now ms since 1970
   * @throws an Error of one clear sentence, by rejecting, when they are damaged.
   */
  openBooks(now: () => number): Promise<LedgerBooks>;
}

/** A store at one moment. Its repositories read alone. Leaving the scope of a `using` closes it. */
export interface StoreReader extends Repositories, Disposable {
  /** Compares a spool with this store. @throws an Error of one clear sentence, by rejecting, where they do not fit. */
  unbooked(spool: SpoolSettlements): Promise<UnbookedSettlements>;
  close(): void;
}

/** The hold of one process on a store, against other servers. */
export interface StoreLock {
  release(): void;
}

/** The settlements that were read from a spool. Only a reader of the same driver sees what is in them. */
export interface SpoolSettlements {
  /** The path of the spool, as it was given. */
  readonly path: string;
  /** The generation of its entries, which grows each time that it is emptied; 0: there is no spool. */
  readonly generation: number;
  /** The number of its whole entries. */
  readonly entries: number;
}

/** Where a store notes, outside its spool, how far the spool is: by it a start misses entries that have vanished. */
export interface SpoolNotes {
  /** The generation that was noted last; 0 for none. */
  readonly generation: number;
  /**
   * Notes that the spool has so many whole entries of a generation, or that it is empty. On the disk when this returns, even
   * where the disk is full. Throws the system's error.
   * @param entries 0 before the first one; null: the spool is empty.
   */
  note(generation: number, entries: number | null): void;
}

/** The settlements of a spool that its store lacks. */
export interface UnbookedSettlements {
  /** IDs of the holds that they close. */
  readonly closed: readonly number[];
  /** The sum of their charges, failed attempts included. */
  readonly charged: Microcredits;
}

/** The settlements that an opening has booked from the spool of an earlier run. */
export interface SpoolReport extends UnbookedSettlements {
  /** Whether the spool's last entry was torn, and is left out. */
  readonly isTorn: boolean;
}

export interface OpenOptions {
  /**
   * `serve`: for the server. Brings all tables up to date, and fences off a server that has the store open.
   * `repair`: for a command that holds the lock of the store. Brings the tables of `rooms` up to date.
   * `beside`: for a command beside a server. Refuses tables of `rooms` that are not of this version.
   */
  readonly mode: 'serve' | 'repair' | 'beside';
  /** The rooms whose tables are used; all in the mode `serve`. */
  readonly rooms?: readonly StoreRoom[];
  /** Called with appended writes that were lost, and once each time the disk starts to fail. */
  readonly onError?: (error: StoreError) => void;
  /** In the mode `serve`: the version of Signalbox, noted with tables that it makes. */
  readonly program?: string;
  /** In the mode `serve`: a file that takes settlements while the store refuses them. */
  readonly spool?: string;
  /** Where the spool is noted; absent: nowhere. */
  readonly spoolNotes?: SpoolNotes;
  /** Called once with the settlements that were booked from the spool of an earlier run. */
  readonly onSpool?: (report: SpoolReport) => void;
  /** In the mode `serve`: called once where no place for a server is free, and the start waits for one. Absent: it is refused. */
  readonly onFull?: () => void;
  /** Called once where a shared store is refused for good, with the reason in one sentence. */
  readonly onRefused?: (problem: string) => void;
  /** In the mode `serve`: whole ms since 1970, which never go back. A store without a clock of its own goes by it; absent: the system's. */
  readonly now?: () => number;
  /** ms on a clock that never goes back, by which a shared store reckons its lease and the age of copies; the process's own unless stated. */
  readonly clock?: () => number;
  /** How long a write waits for another process, ms. Nothing else happens in this process meanwhile. */
  readonly busyTimeoutMs?: number;
  /** Sets writes behind and retries; the process's own unless stated. */
  readonly timers?: Timers;
}

/** The tables of a store. */
export interface TablesState {
  /** The version of the tables; 0 for none. */
  readonly version: number;
  /** The version that this program is written for. */
  readonly known: number;
  /** The program that brought them there; null where that is not noted. */
  readonly program: string | null;
  /** Programs that are written for this version or a later one can use them. */
  readonly serves: number;
}

/** One kind of database. `open.ts` picks it by the scheme of a URL. Each method rejects with StoreError of one clear sentence. */
export interface StoreDriver {
  /** Opens a store for writing, made when missing. The error's reason is `newer` or `older` for tables of another version. */
  open(url: string, options: OpenOptions): Promise<OpenStore>;
  /**
   * Opens an existing store for reading, beside any server: all that is read is of one moment.
   * @param rooms those whose tables are read; refused where a newer version of Signalbox wrote them.
   */
  read(url: string, rooms: readonly StoreRoom[]): Promise<StoreReader>;
  /** Resolves with whether there is a store. Makes none. */
  exists(url: string): Promise<boolean>;
  /** Reads how far the tables of a store are. Makes none. */
  tables(url: string): Promise<TablesState>;
  /**
   * Brings the tables up to date, and makes them where there are none, as a server does at its start.
   * @param program the version of Signalbox
   * @returns the number of versions that were applied
   */
  migrate(url: string, program: string): Promise<number>;
  /** Vouches for a store that may lack what it had answered, such as behind a failover: servers use it again. Resolves with false where that was done before, with null where it has no failover. */
  accept(url: string): Promise<boolean | null>;
  /** Copies an existing store, as it is at one moment, to a SQLite file, beside any server. An existing file is left alone. */
  copy(url: string, target: string): Promise<void>;
  /**
   * Takes a store for this process, until `release` or its end. The error's reason is `busy` where another process has it.
   * @param how `alone` where servers that could share it with this process are in the way, too
   */
  lock(url: string, how?: 'alone'): Promise<StoreLock>;
  /** Resolves with whether another process, such as a server, has taken the store. */
  isLocked(url: string): Promise<boolean>;
  /** Names a store to people, without its password. */
  placeOf(url: string): string;
  /** Reads a spool; one that does not exist is empty. @throws an Error of one clear sentence when it is damaged. */
  readSpool(path: string): SpoolSettlements;
  /** @returns the number of settlements in a spool; undefined where it cannot be read: another server may have taken it over. */
  settlementsIn(path: string): number | undefined;
}
