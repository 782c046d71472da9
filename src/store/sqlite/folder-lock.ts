import { Database } from 'bun:sqlite';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { StoreLock } from '../driver.ts';
import { StoreError } from '../store.ts';
import { failureOf, faultOf } from './fault.ts';

/** How long a starting server waits for a command that is just checking the lock (`isFolderLocked`), ms. */
const PROBE_WAIT_MS = 100;

const lockFile = (folder: string): string => join(folder, 'server.lock');

/**
 * References to the process's locks: without a reference, the garbage collector would close the handle and drop the lock.
 * State: folder lock.
 */
const held = new Set<Database>();

/**
 * Locks the data folder for this server until `release` or until the process ends in any way. Without the lock, a second server would take
 * the first server's reservations for orphans and charge them. Throws an Error with one clear sentence if another server has the folder.
 * Commands that only read or write rows need no lock.
 */
export function lockFolder(folder: string): StoreLock {
  let lock: Database | null = null;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The folder is checked first, because the error of this check states the reason and SQLite's error does not.
    accessSync(folder, constants.W_OK);
    // The kernel releases SQLite's lock when the process dies, so no lock is ever left over.
    lock = new Database(lockFile(folder), { create: true, readwrite: true });
    lock.run(`PRAGMA busy_timeout = ${PROBE_WAIT_MS}`);
    lock.run('PRAGMA locking_mode = EXCLUSIVE');
    lock.run('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (faultOf(error) !== 'busy') throw failureOf(`Cannot use the data folder ${resolve(folder)}`, error);
    throw new StoreError(
      `Another Signalbox server is using the data folder ${resolve(folder)}. Stop it, or choose another folder with --data.`,
      { reason: 'busy', cause: error },
    );
  }
  const taken = lock;
  held.add(taken);
  return {
    release() {
      held.delete(taken);
      taken.close();
    },
  };
}

/** Returns whether another process has locked the data folder. The function does not keep a lock. */
export function isFolderLocked(folder: string): boolean {
  if (!existsSync(lockFile(folder))) return false;
  let probe: Database | null = null;
  try {
    probe = new Database(lockFile(folder), { readonly: true });
    probe.query('SELECT count(*) FROM sqlite_master').get();
    return false;
  } catch (error) {
    return faultOf(error) === 'busy';
  } finally {
    probe?.close();
  }
}
