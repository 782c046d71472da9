import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Migrations, type Statement, type Store, StoreError, type Write } from '../../src/store/store.ts';

/** A folder that goes away with the test: `using folder = tempFolder()`. */
export function tempFolder(): { path: string; file: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-'));
  return {
    path,
    file: join(path, 'signalbox.db'),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export const notes: Migrations = {
  room: 'notes',
  versions: ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK (length(text) < 100)) STRICT'],
};

const INSERT: Statement = { sql: 'INSERT INTO notes (id, text) VALUES (?, ?)' };
export const SELECT: Statement = { sql: 'SELECT id, text FROM notes ORDER BY id' };

export function note(id: number, text = 'a note'): Write {
  return { statement: INSERT, params: [id, text] };
}

/** Breaks a constraint wherever it is written. */
export function badNote(id: number): Write {
  return { statement: INSERT, params: [id, null] };
}

/** A store whose commits fail while `fails` says so. */
export function flaky(store: Store, fails: () => boolean): Store {
  return {
    commit: (writes) => (fails() ? Promise.reject(new StoreError('disk full')) : store.commit(writes)),
    append: (writes) => store.append(writes),
    query: (statement, params) => store.query(statement, params),
    version: () => store.version(),
    written: () => store.written(),
    flush: () => store.flush(),
    close: () => store.close(),
  };
}
