import { existsSync, renameSync, rmSync } from 'node:fs';
import { addressOf } from '../postgres/address.ts';
import { postgresDriver } from '../postgres/open.ts';
import { PostgresSnapshot } from '../postgres/snapshot.ts';
import { ALL_TABLES, pathOf, sqliteDriver } from '../sqlite/open.ts';
import { openReader } from '../sqlite/reader.ts';
import { StoreError } from '../store.ts';
import { copyToPostgres } from './to-postgres.ts';
import { copyToSqlite } from './to-sqlite.ts';

/**
 * Copies a SQLite file to a database of PostgreSQL, which gets its tables where it has none. A failure leaves no row.
 * @param program the version of Signalbox
 */
export async function copyFileToPostgres(file: string, url: string, program: string): Promise<void> {
  const { version, known } = await sqliteDriver.tables(file);
  if (version < known)
    throw new StoreError(`${sqliteDriver.placeOf(file)} is of an older version; bring it up to date first.`, {
      reason: 'older',
    });
  const from = openReader(pathOf(file), ALL_TABLES);
  try {
    await postgresDriver.migrate(url, program);
    await copyToPostgres(from, url);
  } finally {
    from.close();
  }
}

/** Copies a database of PostgreSQL to a new SQLite file. A failure leaves none. */
export async function copyPostgresToFile(url: string, file: string): Promise<void> {
  const path = pathOf(file);
  if (existsSync(path))
    throw new StoreError(`${sqliteDriver.placeOf(file)} exists already: copy to a new file.`, { reason: 'denied' });
  const part = `${path}.part`;
  const from = await PostgresSnapshot.open(addressOf(url));
  const drop = () => {
    for (const end of ['', '-wal', '-shm']) rmSync(part + end, { force: true });
  };
  try {
    drop();
    await copyToSqlite(from, part);
    renameSync(part, path);
  } finally {
    drop();
    await from.close();
  }
}
