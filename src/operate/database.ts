import type { StoreDriver, TablesState } from '../store/driver.ts';
import { acceptStore, isStoreLocked, migrateStore, placeOfStore, tablesOfStore } from '../store/open.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** A database, and how far its tables are. */
export interface DatabaseStatus extends TablesState {
  /** Its name, without a password. */
  readonly place: string;
  /** Whether a server uses it. */
  readonly isServed: boolean;
  /** Whether this program can use it as it is. */
  readonly isCurrent: boolean;
}

/** Rejects with StoreError. */
export async function databaseStatus(by: Principal, url: string): Promise<DatabaseStatus> {
  checkAction(by.caller, 'status.read');
  const [place, tables, isServed] = await Promise.all([placeOfStore(url), tablesOfStore(url), isStoreLocked(url)]);
  return { place, ...tables, isServed, isCurrent: tables.version >= tables.known && tables.serves <= tables.known };
}

/** Vouches for a database behind a failover, in which commits may have been lost. Rejects with StoreError. */
export function acceptDatabase(by: Principal, url: string): Promise<void> {
  checkAction(by.caller, 'database.change');
  return acceptStore(url);
}

/** Brings the tables up to date. Resolves with the number of versions that were applied; rejects with StoreError. */
export function migrateDatabase(by: Principal, url: string, program: string): ReturnType<StoreDriver['migrate']> {
  checkAction(by.caller, 'database.change');
  return migrateStore(url, program);
}
