import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { lockFolder } from '../../src/store/sqlite/folder-lock.ts';
import { openReader } from '../../src/store/sqlite/reader.ts';
import { StoreError } from '../../src/store/store.ts';
import { note, notes, notesTest, SELECT, tempFolder } from './support.ts';

notesTest(
  'once a commit resolves, its writes are on the disk: a copy of the files at that moment contains the writes',
  async (store, folder) => {
    await store.commit([note(1), note(2)]);
    const copy = join(folder.path, 'copy.db');
    for (const suffix of ['', '-wal']) copyFileSync(folder.file + suffix, copy + suffix);
    const reopened = await openSqlite(copy, [notes]);
    expect(await reopened.query<{ id: number }>(SELECT)).toHaveLength(2);
    await reopened.close();
  },
);

test('a reader opens a database whose first transaction was cut off by a crash', async () => {
  using folder = tempFolder();
  const db = new Database(folder.file);
  // If SQLite's cache has a single page, SQLite writes to the database before the commit, after writing its journal.
  db.run('PRAGMA cache_size = 1');
  db.run('CREATE TABLE first (text TEXT)');
  db.run('BEGIN');
  for (let row = 0; row < 100; row++) db.run('INSERT INTO first VALUES (?)', ['x'.repeat(1_000)]);
  const copy = join(folder.path, 'copy.db');
  for (const suffix of ['', '-journal']) copyFileSync(folder.file + suffix, copy + suffix);
  db.close();
  const reader = openReader(copy, []);
  expect(await reader.query<{ n: number }>({ sql: 'SELECT count(*) AS n FROM first' })).toEqual([{ n: 0 }]);
  reader.close();
});

notesTest('the database uses a write-ahead log, and every commit is synced', async (store) => {
  const one = async (sql: string) => Object.values((await store.query<Record<string, unknown>>({ sql }))[0] ?? {})[0];
  expect(await one('PRAGMA journal_mode')).toBe('wal');
  expect(await one('PRAGMA synchronous')).toBe(2);
  expect(await one('PRAGMA foreign_keys')).toBe(1);
});

notesTest('a write without a sync survives the end of the process, and a flush syncs it', async (store, folder) => {
  store.append([note(1)]);
  await store.written();
  const copy = join(folder.path, 'copy.db');
  for (const end of ['', '-wal']) copyFileSync(`${folder.file}${end}`, `${copy}${end}`);
  const seen = new Database(copy);
  expect(seen.query('SELECT id FROM notes').all()).toEqual([{ id: 1 }]);
  seen.close();
  expect(await store.query({ sql: 'PRAGMA synchronous' })).toEqual([{ synchronous: 1 }]);
  await store.flush();
  expect(await store.query({ sql: 'PRAGMA synchronous' })).toEqual([{ synchronous: 2 }]);
});

test('while the disk is full, the store rejects commits and keeps appends, which it writes once there is room', async () => {
  using folder = tempFolder();
  const errors: string[] = [];
  const store = await openSqlite(folder.file, [notes], { onError: (error) => errors.push(error.message) });
  const limit = (pages: number) => store.query({ sql: `PRAGMA max_page_count = ${pages}` });
  await limit(5);
  const many = (from: number) => Array.from({ length: 500 }, (_, i) => note(from + i, 'x'.repeat(90)));
  store.append(many(0));
  await store.commit([note(9_999)]).then(
    () => expect.unreachable(),
    (error) => expect(error).toBeInstanceOf(StoreError),
  );
  expect(errors).toEqual(['the database cannot be written: database or disk is full']);
  await limit(100_000);
  await store.flush();
  expect(await store.query<{ id: number }>(SELECT)).toHaveLength(500);
  await store.close();
});

test('another handle is notified of a subject after the commit that raised it, and of no other subject', async () => {
  using folder = tempFolder();
  const here = await openSqlite(folder.file, [notes]);
  const there = await openSqlite(folder.file, [notes]);
  let heard = 0;
  here.news.on('policy', () => void heard++);
  await here.news.look();
  expect(heard).toBe(1);
  await there.commit([note(1), there.news.raise('budgets')]);
  await here.news.look();
  expect(heard).toBe(1);
  await there.commit([note(2), there.news.raise('policy')]);
  await here.news.look();
  expect(heard).toBe(2);
  await Promise.all([here.close(), there.close()]);
});

test('the migrations of a database run once each and in order, and if a migration fails, no migration applies', async () => {
  using folder = tempFolder();
  const grown = { room: 'notes', versions: { ...notes.versions, 2: 'ALTER TABLE notes ADD COLUMN author TEXT' } };
  await (await openSqlite(folder.file, [notes])).close();
  const broken = { room: 'broken', versions: { 1: 'CREATE TABLE sound (id)', 2: 'CREATE TABLE (' } };
  expect(openSqlite(folder.file, [grown, broken])).rejects.toThrow(/Cannot open the database/);
  const store = await openSqlite(folder.file, [grown]);
  const columns = await store.query<{ name: string }>({ sql: "SELECT name FROM pragma_table_info('notes')" });
  expect(columns.map((column) => column.name)).toEqual(['id', 'text', 'author']);
  expect(await store.query({ sql: "SELECT 1 FROM sqlite_schema WHERE name = 'sound'" })).toEqual([]);
  await store.close();
});

test('the store refuses a database of a newer version instead of misreading it', async () => {
  using folder = tempFolder();
  const newer = { room: 'notes', versions: { ...notes.versions, 2: 'CREATE TABLE later (id)' } };
  await (await openSqlite(folder.file, [newer])).close();
  expect(openSqlite(folder.file, [notes])).rejects.toThrow(/newer version of Signalbox/);
});

test('only the owner may read the database and its write-ahead log', async () => {
  using folder = tempFolder();
  const path = join(folder.path, 'data', 'signalbox.db');
  const store = await openSqlite(path, [notes]);
  await store.commit([note(1)]);
  for (const suffix of ['', '-wal', '-shm']) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder.path, 'data')).mode & 0o777).toBe(0o700);
  await store.close();
});

test('a damaged file and an impossible folder each give an error of one clear sentence', async () => {
  using folder = tempFolder();
  writeFileSync(folder.file, 'this is no database. '.repeat(500));
  expect(openSqlite(folder.file, [notes])).rejects.toThrow(
    /^Cannot open the database .*: the file is damaged, or is not a SQLite database\.$/,
  );
  expect(openSqlite(join(folder.file, 'data', 'x.db'), [notes])).rejects.toThrow(
    /: a part of this path is a file, not a folder\.$/,
  );
});

test('a server that opens a database fences off the previous server, which can write nothing more', async () => {
  using folder = tempFolder();
  const errors: string[] = [];
  const fenced = { fenced: true, onError: (error: StoreError) => errors.push(error.message) };
  const first = await openSqlite(folder.file, [notes], fenced);
  await first.commit([note(1)]);
  const second = await openSqlite(folder.file, [notes], fenced);
  expect(first.commit([note(2)])).rejects.toThrow('another server has taken over this data folder');
  await second.commit([note(3)]);
  // A command that opens the database does not fence off the server.
  const command = await openSqlite(folder.file, [notes]);
  await command.commit([note(4)]);
  await second.commit([note(5)]);
  expect((await second.query<{ id: number }>(SELECT)).map(({ id }) => id)).toEqual([1, 3, 4, 5]);
  await Promise.allSettled([first.close(), second.close(), command.close()]);
});

test('the lock of a database lasts exactly as long as the process that holds it, even if the process is killed', async () => {
  using folder = tempFolder();
  const script = `import { lockFolder } from ${JSON.stringify(join(import.meta.dir, '../../src/store/sqlite/folder-lock.ts'))};
    lockFolder(${JSON.stringify(folder.path)});
    setTimeout(() => { Bun.gc(true); console.log('locked'); setInterval(() => {}, 1e6); }, 1);`;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'ignore' });
  try {
    await child.stdout.getReader().read();
    expect(() => lockFolder(folder.path)).toThrow(/Another/);
  } finally {
    child.kill('SIGKILL');
    await child.exited;
  }
  lockFolder(folder.path).release();
});

notesTest('closing a store writes its appends', async (store, folder) => {
  store.append([note(1)]);
  await store.close();
  expect(existsSync(folder.file)).toBe(true);
  const db = new Database(folder.file, { readonly: true });
  expect(db.query('SELECT count(*) AS n FROM notes').get()).toEqual({ n: 1 });
  db.close();
});
