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
 * Copies a SQLite file with the tables of this program to a PostgreSQL database. Creates the tables if the database has none. If the copy fails, no row is left.
 * @param program the version of Signalbox
 */
export async function copyFileToPostgres(file: string, url: string, program: string): Promise<void> {
  const from = openReader(pathOf(file), ALL_TABLES);
  try {
    await postgresDriver.migrate(url, program);
    await copyToPostgres(from, url);
  } finally {
    from.close();
  }
}

/** Copies a PostgreSQL database to a new SQLite file. If the copy fails, no file is left. */
export async function copyPostgresToFile(url: string, file: string): Promise<void> {
  const path = pathOf(file);
  if (existsSync(path))
    throw new StoreError(`${sqliteDriver.placeOf(file)} exists already; name a file that does not exist.`, {
      reason: 'denied',
    });
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
