import { readFileSync, writeFileSync } from 'node:fs';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { FENCE_TABLE } from '../../src/store/sqlite/fence.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { tempFolder } from '../store/support.ts';

/** A database whose tables are all empty, but for its own name. */
interface EmptyStore {
  readonly bytes: Buffer;
  /** Where its name stands in them, which is random: a server knows its database by it. */
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
 * Puts a new database in a place that has none, as a first start leaves it behind its migrations. They are a fifth of a start, and
 * the same each time: those of a worker's servers and stores are run once. A test of a first start names its data folder, and runs them.
 */
export async function layStore(file: string): Promise<void> {
  made.store ??= makeEmptyStore();
  const { bytes, nameAt } = await made.store;
  // Into the template itself: a copy of a megabyte and a half takes longer than the file.
  bytes.write(Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex'), nameAt, 'latin1');
  writeFileSync(file, bytes, { mode: 0o600 });
}
