import { dirname, join } from 'node:path';
import { UsageError } from '../core/usage-error.ts';
import type { StoreDriver } from './driver.ts';

/** The kinds of stores, by the scheme of their URLs, each loaded when it is needed. A plain path and a `file:` URL name a SQLite database. */
const DRIVERS: ReadonlyMap<string, () => Promise<StoreDriver>> = new Map([
  ['sqlite', async () => (await import('./sqlite/open.ts')).sqliteDriver],
  ['postgres', async () => (await import('./postgres/open.ts')).postgresDriver],
]);
/** Other schemes of the same kinds. */
const ALIASES: Readonly<Record<string, string>> = { file: 'sqlite', postgresql: 'postgres' };

/** The scheme of a URL, in lower case; null for a path. `sqlite:PATH` and `file:PATH` are URLs, too. */
function schemeOf(text: string): string | null {
  const [, scheme = '', slashes] = /^([a-z][a-z\d+.-]*):(\/\/)?/i.exec(text) ?? [];
  const name = scheme.toLowerCase();
  return slashes !== undefined || name in ALIASES || DRIVERS.has(name) ? name : null;
}

/** A mistaken URL, by quotation marks, a missing scheme or words of libpq: as a path, each server would begin a database of its own. */
const NO_PATH = /^["'`]|:\/\/|^\w+\/\/|^[^/]*@|^(?:dbname|host|hostaddr|port|user)\s*=/i;

/** @throws UsageError for a URL of another kind of database. Only its scheme is shown: it may have a password. */
function loaderOf(url: string): () => Promise<StoreDriver> {
  const named = schemeOf(url);
  if (named === null && NO_PATH.test(url))
    throw new UsageError(
      'A database is named by a URL without quotation marks, postgres://USER@HOST:PORT/DATABASE, or by a path, such as /var/lib/signalbox.',
    );
  const scheme = named ?? 'sqlite';
  const load = DRIVERS.get(ALIASES[scheme] ?? scheme);
  if (load) return load;
  throw new UsageError(
    `There is no store for ${scheme} URLs; there is sqlite, which takes a path, such as /var/lib/signalbox, and postgres.`,
  );
}

const driverOf = async (url: string): Promise<StoreDriver> => loaderOf(url)();

/** @throws UsageError where a URL stands for the path of a data folder: no kind of store takes one. */
export function refuseUrl(folder: string): void {
  const scheme = schemeOf(folder);
  if (scheme === null) return;
  loaderOf(folder);
  throw new UsageError(
    `A data folder is named by its path, such as /var/lib/signalbox, not by a ${scheme} URL; DATABASE_URL names a database.`,
  );
}

/** Whether several servers can have the store of a URL at once. */
export const isShared = (url: string): boolean => {
  const scheme = schemeOf(url) ?? 'sqlite';
  return (ALIASES[scheme] ?? scheme) !== 'sqlite';
};

/**
 * The URL of the store for a data folder: the one that operators name, else the path of the database in the folder.
 * @throws UsageError for a URL of another kind
 */
export function storeUrlOf(data: string, named?: string): string {
  if (!named?.trim()) return join(data, 'signalbox.db');
  loaderOf(named.trim());
  return named.trim();
}

/** Opens a store for writing, made when missing. Rejects with StoreError, or UsageError for an unknown kind of URL. */
export const openStore: StoreDriver['open'] = async (url, options) => (await driverOf(url)).open(url, options);

/** Opens an existing store for reading, beside any server. Rejects with StoreError. */
export const readStore: StoreDriver['read'] = async (url, rooms) => (await driverOf(url)).read(url, rooms);

/** Resolves with whether there is a store. */
export const storeExists: StoreDriver['exists'] = async (url) => (await driverOf(url)).exists(url);

/** @throws UsageError where there is no store, by rejecting */
export async function requireStore(url: string): Promise<void> {
  if (await storeExists(url)) return;
  const place = await placeOfStore(url);
  if (isShared(url)) throw new UsageError(`There are no tables in ${place}; start the server once.`);
  throw new UsageError(
    `There is no database in ${dirname(place)}; start the server once, or name its folder with --data.`,
  );
}

/** Reads how far the tables of a store are. Rejects with StoreError. */
export const tablesOfStore: StoreDriver['tables'] = async (url) => (await driverOf(url)).tables(url);

/** Brings the tables of a store up to date. Resolves with the number of versions that were applied; rejects with StoreError. */
export const migrateStore: StoreDriver['migrate'] = async (url, program) => (await driverOf(url)).migrate(url, program);

/** Vouches for a store that may lack what it had answered. Rejects with StoreError. */
export const acceptStore: StoreDriver['accept'] = async (url) => (await driverOf(url)).accept(url);

/** Copies an existing store to a new file, beside any server. Rejects with StoreError. */
export const copyStore: StoreDriver['copy'] = async (url, target) => (await driverOf(url)).copy(url, target);

/**
 * Copies a store to a new one, or one without rows, while no server uses either. Rejects with StoreError, or UsageError for two of PostgreSQL.
 * @param program the version of Signalbox
 */
export async function moveStore(from: string, to: string, program: string): Promise<void> {
  const [source, target] = [from, to].map((url) => ALIASES[schemeOf(url) ?? ''] ?? schemeOf(url) ?? 'sqlite');
  loaderOf(from);
  loaderOf(to);
  const { copyFileToPostgres, copyPostgresToFile } = await import('./copy/copy.ts');
  if (target === 'sqlite') await (source === 'sqlite' ? copyStore(from, to) : copyPostgresToFile(from, to));
  else if (source === 'sqlite') await copyFileToPostgres(from, to, program);
  else throw new UsageError('pg_dump copies a database of PostgreSQL to another one.');
}

/** Takes a store for this process, until `release` or its end. Rejects with StoreError. */
export const lockStore: StoreDriver['lock'] = async (url, how) => (await driverOf(url)).lock(url, how);

/** How a server takes its data folder, beside a store that several share: two would write one spool. */
export const dataFolders = () => import('./sqlite/folder-lock.ts');

/** Resolves with whether another process, such as a server, has taken the store. */
export const isStoreLocked: StoreDriver['isLocked'] = async (url) => (await driverOf(url)).isLocked(url);

/** Names a store to people, without a password. */
export const placeOfStore = async (url: string) => (await driverOf(url)).placeOf(url);

/** Reads the spool of a store. Rejects with an Error of one clear sentence when it is damaged. */
export const readSpool = async (url: string, spool: string) => (await driverOf(url)).readSpool(spool);

/** Resolves with the number of settlements in the spool of a store; undefined where it cannot be read. */
export const settlementsIn = async (url: string, spool: string) => (await driverOf(url)).settlementsIn(spool);
