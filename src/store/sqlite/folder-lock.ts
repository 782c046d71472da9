import { Database } from 'bun:sqlite';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { StoreLock } from '../driver.ts';
import { StoreError } from '../store.ts';
import { failureOf, faultOf } from './fault.ts';

/** How long a start waits for `isFolderLocked` of a command, ms. */
const PROBE_WAIT_MS = 100;

const lockFile = (folder: string): string => join(folder, 'server.lock');

/** Keeps the locks of the process referenced: an unreferenced handle is collected, and its lock with it. State: folder lock. */
const held = new Set<Database>();

/**
 * Takes the data folder for this one server until `release` or the end of the process, however it ends:
 * a second server would take the reservations of the first for orphans and charge them. Throws an Error of
 * one clear sentence when another one has it. Commands that only read or write rows need no lock.
 */
export function lockFolder(folder: string): StoreLock {
  let lock: Database | null = null;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Its error names the reason; SQLite's does not.
    accessSync(folder, constants.W_OK);
    // The kernel drops a lock that SQLite holds when the process dies, so none is ever left behind.
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

/** Returns whether another process has the data folder. Takes no lock that outlives the call. */
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
