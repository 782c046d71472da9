import { Database } from 'bun:sqlite';
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../../core/thrown.ts';
import { BUSY_TIMEOUT_MS } from './database.ts';
import { failureOf, faultText } from './fault.ts';

/**
 * Writes a copy of an existing database, from a single moment, to `target`, while other processes use the database. When this function
 * returns, the copy is complete, on the disk, and readable only by its owner. Throws an Error with one clear sentence if that fails. The
 * function never overwrites a file, and deletes an unfinished copy.
 */
export function copyDatabase(path: string, target: string): void {
  let db: Database | null = null;
  let made = false;
  try {
    // SQLite writes into an existing empty file and keeps the file's mode, so the file is created first.
    closeSync(openSync(target, 'wx', 0o600));
    made = true;
    db = new Database(path, { readwrite: true, create: false });
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    db.run('VACUUM INTO ?', [target]);
    const copy = openSync(target, 'r');
    fsyncSync(copy);
    closeSync(copy);
  } catch (error) {
    if (made) rmSync(target, { force: true });
    throw failureOf(`Cannot copy the database ${resolve(path)} to ${resolve(target)}`, error, copyWords(error));
  } finally {
    db?.close();
  }
}

function copyWords(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EEXIST') return 'that file exists';
  if (code === 'ENOENT') return 'there is no such folder';
  return faultText(error);
}
