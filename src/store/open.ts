import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { StoreDriver } from './driver.ts';

/**
 * The kinds of stores by URL scheme. The driver of each kind is loaded when it is first needed. A plain path and a `file:` URL name a
 * SQLite database.
 */
const DRIVERS: ReadonlyMap<string, () => Promise<StoreDriver>> = new Map([
  ['sqlite', async () => (await import('./sqlite/open.ts')).sqliteDriver],
  ['postgres', async () => (await import('./postgres/open.ts')).postgresDriver],
]);
/** Other schemes for the same kinds of stores. */
const ALIASES: Readonly<Record<string, string>> = { file: 'sqlite', postgresql: 'postgres' };

/** Returns the scheme of a URL in lower case; null for a path. `sqlite:PATH` and `file:PATH` are URLs, too. */
function schemeOf(text: string): string | null {
  const [, scheme = '', slashes] = /^([a-z][a-z\d+.-]*):(\/\/)?/i.exec(text) ?? [];
  const name = scheme.toLowerCase();
  return slashes !== undefined || name in ALIASES || DRIVERS.has(name) ? name : null;
}

/**
 * Matches a mistyped database URL: with quotation marks, without a scheme or a slash of it, as HOST:PORT/DATABASE, or as libpq keywords. If
 * such a URL were taken for a path, each server would create its own database.
 */
const NO_PATH =
  /^["'`]|:\/\/|^\w+\/\/|^[a-z][a-z\d+.-]+:\/|^[\w.-]+:\d+(?:\/|$)|^[^/]*@|^(?:dbname|host|hostaddr|port|user)\s*=/i;
/** A folder, or the ending of a database file. */
const LIKE_PATH = /[/\\]|\.(?:db3?|sqlite3?)$/i;

const FORMS =
  'Use a URL without quotation marks, postgres://USER@HOST:PORT/DATABASE, or for SQLite the path of a file, such as /var/lib/signalbox/signalbox.db.';

/** @throws UsageError for a URL of an unknown kind. The message shows only the scheme, because the URL may contain a password. */
function loaderOf(url: string): () => Promise<StoreDriver> {
  const named = schemeOf(url);
  if (named === null && NO_PATH.test(url)) throw noName();
  const scheme = named ?? 'sqlite';
  const load = DRIVERS.get(ALIASES[scheme] ?? scheme);
  if (load) return load;
  throw new UsageError(`Signalbox has no store for ${scheme} URLs. ${FORMS}`);
}

const noName = () => new UsageError(`The name of the database is neither a URL nor a path. ${FORMS}`);

const driverOf = async (url: string): Promise<StoreDriver> => loaderOf(url)();

/** @throws UsageError for a URL in place of the path of a data folder. No kind of store accepts a URL as the path of a data folder. */
export function refuseUrl(folder: string): void {
  const scheme = schemeOf(folder);
  if (scheme === null) return;
  loaderOf(folder);
  throw new UsageError(
    `The data folder must be a path, such as /var/lib/signalbox, not a ${scheme} URL; set DATABASE_URL to name a database.`,
  );
}

/** Whether several servers can use the store of a URL at the same time. */
export const isShared = (url: string): boolean => {
  const scheme = schemeOf(url) ?? 'sqlite';
  return (ALIASES[scheme] ?? scheme) !== 'sqlite';
};

/** Returns the path of the database in a data folder. */
export const databaseIn = (data: string): string => join(data, 'signalbox.db');

/**
 * Checks the value of `DATABASE_URL`. A word without a folder and an ending is probably a mistake, unless a file has that name.
 * @returns the URL of the store; null if the value is empty
 * @throws UsageError for a URL of an unknown kind
 */
export function checkedUrl(value: string): string | null {
  const url = value.trim();
  if (url === '') return null;
  try {
    loaderOf(url);
    if (schemeOf(url) === null && !LIKE_PATH.test(url) && !existsSync(url)) throw noName();
  } catch (cause) {
    throw new UsageError(`DATABASE_URL: ${messageOf(cause)}`);
  }
  return url;
}

/**
 * Opens a store for writing, and creates the store if it is missing. Rejects with StoreError, or with UsageError for an unknown kind of
 * URL.
 */
export const openStore: StoreDriver['open'] = async (url, options) => (await driverOf(url)).open(url, options);

/** Opens an existing store for reading, even while a server runs. Rejects with StoreError. */
export const readStore: StoreDriver['read'] = async (url, rooms) => (await driverOf(url)).read(url, rooms);

/** Resolves with whether a store exists. */
export const storeExists: StoreDriver['exists'] = async (url) => (await driverOf(url)).exists(url);

/** @throws UsageError, by rejecting, if the store does not exist */
export async function requireStore(url: string): Promise<void> {
  if (await storeExists(url)) return;
  const place = await placeOfStore(url);
  if (isShared(url)) throw new UsageError(`The database ${place} has no tables; start the server once to create them.`);
  throw new UsageError(
    `There is no database in ${dirname(place)}; start the server once to create it, or name another folder with --data.`,
  );
}

/** Reads the versions of a store's tables. Rejects with StoreError. */
export const tablesOfStore: StoreDriver['tables'] = async (url) => (await driverOf(url)).tables(url);

/** Looks for damage and unsafe settings of a store, while servers use it. Rejects with StoreError. */
export const examineStore: StoreDriver['examine'] = async (url, withinMs) =>
  (await driverOf(url)).examine(url, withinMs);

/** Migrates the tables of a store to this version. Resolves with the number of versions that were applied; rejects with StoreError. */
export const migrateStore: StoreDriver['migrate'] = async (url, program) => (await driverOf(url)).migrate(url, program);

/** Records the operator's confirmation that servers may use a store that may have lost acknowledged writes. Rejects with StoreError. */
export const acceptStore: StoreDriver['accept'] = async (url) => (await driverOf(url)).accept(url);

/** Copies an existing store to a new file, even while a server uses the store. Rejects with StoreError. */
export const copyStore: StoreDriver['copy'] = async (url, target) => (await driverOf(url)).copy(url, target);

/**
 * Copies a store to another database that is new or has no rows. No server may use either store during the copy. Rejects with StoreError,
 * or with UsageError if both stores are PostgreSQL databases.
 * @param program the version of Signalbox
 */
export async function moveStore(from: string, to: string, program: string): Promise<void> {
  const [source, target] = [from, to].map((url) => ALIASES[schemeOf(url) ?? ''] ?? schemeOf(url) ?? 'sqlite');
  loaderOf(from);
  loaderOf(to);
  const { copyFileToPostgres, copyPostgresToFile } = await import('./copy/copy.ts');
  if (target === 'sqlite') await (source === 'sqlite' ? copyStore(from, to) : copyPostgresToFile(from, to));
  else if (source === 'sqlite') await copyFileToPostgres(from, to, program);
  else throw new UsageError('Signalbox does not copy PostgreSQL to PostgreSQL; use pg_dump.');
}

/** Locks a store for this process until `release` or until the process ends. Rejects with StoreError. */
export const lockStore: StoreDriver['lock'] = async (url, how) => (await driverOf(url)).lock(url, how);

/** The lock of a data folder. A server with a shared store also needs it, because two servers would otherwise write the same spool file. */
export const dataFolders = () => import('./sqlite/folder-lock.ts');

/** Resolves with whether another process, such as a server, has locked the store. */
export const isStoreLocked: StoreDriver['isLocked'] = async (url) => (await driverOf(url)).isLocked(url);

/** Resolves with the location of a store for messages, without a password. */
export const placeOfStore = async (url: string) => (await driverOf(url)).placeOf(url);

/** Reads the spool of a store. Rejects with an Error of one clear sentence if the spool is damaged. */
export const readSpool = async (url: string, spool: string) => (await driverOf(url)).readSpool(spool);

/** Resolves with the number of settlements in the spool of a store; undefined if it cannot be read. */
export const settlementsIn = async (url: string, spool: string) => (await driverOf(url)).settlementsIn(spool);
