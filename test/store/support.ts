import { test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SqlWrite, type Statement, write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import type { Migrations, SqlStore } from '../../src/store/sqlite/statement.ts';
import { StoreError } from '../../src/store/store.ts';

interface Folder extends Disposable {
  readonly path: string;
  readonly file: string;
}

/** Creates a folder that is deleted with the test: `using folder = tempFolder()`. */
export function tempFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-'));
  return {
    path,
    file: join(path, 'signalbox.db'),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export const notes: Migrations = {
  room: 'notes',
  versions: { 1: 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL CHECK (length(text) < 100)) STRICT' },
};

const INSERT: Statement = { sql: 'INSERT INTO notes (id, text) VALUES (?, ?)' };
export const SELECT: Statement = { sql: 'SELECT id, text FROM notes ORDER BY id' };

export function note(id: number, text = 'a note'): SqlWrite {
  return write(INSERT, id, text);
}

/** Makes a write that always breaks a constraint. */
export function badNote(id: number): SqlWrite {
  return write(INSERT, id, null);
}

/** Returns a store whose commits fail while `fails` returns true. Another store can spread the methods of this store. */
export function flaky(store: SqlStore, fails: () => boolean = () => false): SqlStore {
  return {
    commit: (writes) => (fails() ? Promise.reject(new StoreError('disk full')) : store.commit(writes)),
    append: (writes) => store.append(writes),
    query: (statement, params) => store.query(statement, params),
    written: () => store.written(),
    flush: () => store.flush(),
    close: () => store.close(),
  };
}

/** Runs a test with a table of notes in its own folder. */
export function notesTest(name: string, run: (store: SqlStore, folder: Folder) => Promise<void>): void {
  test(name, async () => {
    using folder = tempFolder();
    const store = await openSqlite(folder.file, [notes]);
    await run(store, folder);
    await store.close();
  });
}

/** The cases of a suite, by the name of the guarantee. */
export type Cases<Of> = Readonly<Record<string, (test: Of) => Promise<void>>>;

/** Runs each case with its own object from `open`. */
export function testCases<Of extends AsyncDisposable>(cases: Cases<Of>, open: () => Promise<Of>): void {
  for (const [guarantee, run] of Object.entries(cases)) {
    test(guarantee, async () => {
      await using box = await open();
      await run(box);
    });
  }
}
