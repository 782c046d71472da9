import { readFileSync, writeFileSync } from 'node:fs';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { FENCE_TABLE } from '../../src/store/sqlite/fence.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { tempFolder } from '../store/support.ts';

/** The file of a database whose tables are all empty, except for the random ID of the database. */
interface EmptyStore {
  readonly bytes: Buffer;
  /** The offset of the random ID in the file. A server recognizes its database by the random ID. */
  readonly nameAt: number;
}

async function makeEmptyStore(): Promise<EmptyStore> {
  using folder = tempFolder();
  const store = await openSqlite(folder.file, [...ALL_TABLES, FENCE_TABLE]);
  const name = (await store.ledger.identity()) ?? '';
  await store.close();
  const bytes = readFileSync(folder.file);
  return { bytes, nameAt: bytes.indexOf(name) };
}

const made: { store?: Promise<EmptyStore> } = {};

/**
 * Writes a new, migrated database to a path that has none. Migrations take a fifth of a start, so each test worker runs them once and
 * copies the result. A test of a first start passes its own data folder and runs the migrations.
 */
export async function layStore(file: string): Promise<void> {
  made.store ??= makeEmptyStore();
  const { bytes, nameAt } = await made.store;
  // Writes the ID into the template itself: copying 1.5 MB in memory takes longer than writing the file.
  bytes.write(Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex'), nameAt, 'latin1');
  writeFileSync(file, bytes, { mode: 0o600 });
}
