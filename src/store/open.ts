import { UsageError } from '../core/usage-error.ts';
import type { StoreDriver } from './driver.ts';
import { sqliteDriver } from './sqlite/open.ts';

/** The kinds of stores, by the scheme of their URLs. A plain path and a `file:` URL name a SQLite database. */
const DRIVERS: ReadonlyMap<string, StoreDriver> = new Map([['sqlite', sqliteDriver]]);

/** The scheme of a URL, in lower case; null for a path. `sqlite:PATH` and `file:PATH` are URLs, too. */
function schemeOf(text: string): string | null {
  const [, scheme = '', slashes] = /^([a-z][a-z\d+.-]*):(\/\/)?/i.exec(text) ?? [];
  const name = scheme.toLowerCase();
  return slashes !== undefined || name === 'file' || DRIVERS.has(name) ? name : null;
}

/**
 * @throws UsageError for a URL of another kind of database. Only its scheme is shown: it may have a password.
 */
function driverOf(url: string): StoreDriver {
  const scheme = schemeOf(url) ?? 'file';
  const driver = DRIVERS.get(scheme === 'file' ? 'sqlite' : scheme);
  if (driver) return driver;
  throw new UsageError(
    `There is no store for ${scheme} URLs; there is ${[...DRIVERS.keys()].join(', ')}, which takes a path, such as /var/lib/signalbox.`,
  );
}

/** @throws UsageError where a URL stands for the path of a data folder: no kind of store takes one. */
export function refuseUrl(folder: string): void {
  const scheme = schemeOf(folder);
  if (scheme === null) return;
  driverOf(folder);
  throw new UsageError(`A data folder is named by its path, such as /var/lib/signalbox, not by a ${scheme} URL.`);
}

/** Opens a store for writing, made when missing. Rejects with StoreError, or UsageError for an unknown kind of URL. */
export const openStore: StoreDriver['open'] = async (url, options) => driverOf(url).open(url, options);

/** Opens an existing store for reading, beside any server. Rejects with StoreError. */
export const readStore: StoreDriver['read'] = async (url, rooms) => driverOf(url).read(url, rooms);

/** Resolves with whether there is a store. */
export const storeExists: StoreDriver['exists'] = async (url) => driverOf(url).exists(url);

/** Copies an existing store to a new file, beside any server. Rejects with StoreError. */
export const copyStore: StoreDriver['copy'] = async (url, target) => driverOf(url).copy(url, target);

/** Takes a store for this process, until `release` or its end. Rejects with StoreError. */
export const lockStore: StoreDriver['lock'] = async (url) => driverOf(url).lock(url);

/** Resolves with whether another process, such as a server, has taken the store. */
export const isStoreLocked: StoreDriver['isLocked'] = async (url) => driverOf(url).isLocked(url);

/** Reads the spool of a store. @throws an Error of one clear sentence when it is damaged. */
export const readSpool = (url: string, spool: string) => driverOf(url).readSpool(spool);

/** @returns the number of settlements in the spool of a store; undefined where it cannot be read. */
export const settlementsIn = (url: string, spool: string) => driverOf(url).settlementsIn(spool);
