import { expect, test } from 'bun:test';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  checkedUrl,
  copyStore,
  isStoreLocked,
  lockStore,
  openStore,
  readStore,
  storeExists,
} from '../../src/store/open.ts';
import { write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { learningMigrations } from '../../src/store/sqlite/learning.ts';
import { StoreError } from '../../src/store/store.ts';
import { badNote, note, notes, tempFolder } from './support.ts';

const reasonOf = (error: unknown) => (error instanceof StoreError ? error.reason : error);
/** Resolves with the reason of a refusal; null for none. */
const refusalOf = (work: () => unknown) => Promise.try(work).then(() => null, reasonOf);

test('a path, a sqlite: URL and a file: URL name the same database', async () => {
  using folder = tempFolder();
  // A `file:` URL escapes the space and the percent sign; a path and a `sqlite:` URL do not.
  const file = join(folder.path, 'of 100 %20.db');
  const urls = [file, `sqlite:${file}`, `sqlite://${file}`, `SQLITE:${file}`, pathToFileURL(file).href];
  const identities = new Set<string | null>();
  for (const url of urls) {
    const store = await openStore(url, { mode: 'serve' });
    identities.add(await store.ledger.identity());
    await store.close();
    using reader = await readStore(url, ['ledger', 'records']);
    identities.add(await reader.ledger.identity());
  }
  // Each database has its own identity, so one identity means one database.
  expect([...identities]).toEqual([expect.any(String)]);
  expect(readdirSync(folder.path).filter((name) => name.endsWith('.db'))).toEqual([basename(file)]);
});

test('every function of a store refuses the URL of an unknown database, without repeating its password', async () => {
  const url = 'mysql://signalbox:secret@db/books';
  const uses = [
    () => openStore(url, { mode: 'serve' }),
    () => readStore(url, []),
    () => storeExists(url),
    () => copyStore(url, '/nowhere'),
    () => lockStore(url),
    () => isStoreLocked(url),
  ];
  for (const use of uses) {
    const error = await use().then(() => null, String);
    expect(error).toMatch(/^UsageError: Signalbox has no store for mysql URLs/);
    expect(error).not.toContain('secret');
  }
});

const MISTAKES = [
  '"postgres://box:secret@db/books"',
  "'postgres://box:secret@db/books'",
  'jdbc:postgresql://box:secret@db/books',
  'postgres//box:secret@db/books',
  'box:secret@db.example:5432/books',
  'host=db user=box password=secret dbname=books',
  'db.example:5432/books?password=secret',
  'mysql:/box:secret/books',
  'not a url with a secret',
  'books',
];
for (const url of MISTAKES) {
  test(`${url} is refused, so that no server creates a database of its own in a file of that name`, () => {
    const attempt = () => checkedUrl(url);
    expect(attempt).toThrow(/Use a URL without quotation marks, postgres:/);
    expect(attempt).not.toThrow(/secret/);
  });
}

test('a path may contain characters that URLs use', () => {
  const paths = ['/srv/@team/it=1/box.db', './box@2.db', 'books/a:b.db', String.raw`C:\books.db`];
  for (const path of [...paths, 'my books.db', 'books.SQLITE3', './books', '/srv/books', 'sqlite:books', 'file:books'])
    expect(checkedUrl(path)).toBe(path);
});

test('a file that exists may have any name, because an earlier build may have created it', () => {
  // The working folder of the tests has this folder.
  expect(checkedUrl('src')).toBe('src');
});

test('checking whether a store exists does not create the store', async () => {
  using folder = tempFolder();
  expect([await storeExists(folder.file), existsSync(folder.file)]).toEqual([false, false]);
  await (await openStore(folder.file, { mode: 'serve' })).close();
  expect([await storeExists(folder.file), await storeExists(`sqlite:${folder.file}`)]).toEqual([true, true]);
});

test('a command that runs while a server may run refuses older tables; a repairing command migrates them', async () => {
  using folder = tempFolder();
  await (await openSqlite(folder.file, [notes])).close();
  const options = { rooms: ['learning'] } as const;
  expect(await refusalOf(() => openStore(folder.file, { mode: 'beside', ...options }))).toBe('older');
  await (await openStore(folder.file, { mode: 'repair', ...options })).close();
  await (await openStore(folder.file, { mode: 'beside', ...options })).close();
});

test('a reader refuses tables that a newer version wrote', async () => {
  using folder = tempFolder();
  await (await openStore(folder.file, { mode: 'serve' })).close();
  await (
    await openSqlite(folder.file, [{ room: 'learning', versions: { ...learningMigrations.versions, 99: 'SELECT 1' } }])
  ).close();
  expect(await refusalOf(() => openStore(folder.file, { mode: 'serve' }))).toBe('newer');
  expect(await refusalOf(() => readStore(folder.file, ['learning']))).toBe('newer');
  (await readStore(folder.file, ['ledger'])).close();
});

test('if a store cannot be opened, the error has a reason code', async () => {
  using folder = tempFolder();
  const damaged = join(folder.path, 'damaged.db');
  writeFileSync(damaged, 'not a database, but with enough text to be taken for the header of one'.repeat(9));
  expect(await refusalOf(() => readStore(damaged, []))).toBe('damaged');
  const lock = await lockStore(folder.file);
  expect(await refusalOf(() => lockStore(folder.file))).toBe('busy');
  lock.release();
  await (await openStore(folder.file, { mode: 'serve' })).close();
  await expect(copyStore(folder.file, damaged)).rejects.toThrow('that file exists');
});

test('a write that breaks a rule and a write with an unmet condition fail with different reasons and change nothing', async () => {
  using folder = tempFolder();
  const store = await openSqlite(folder.file, [notes]);
  const CONDITIONAL = { sql: 'INSERT INTO notes (id, text) SELECT ?, ? WHERE ? > 0', mustChange: true };
  const conditional = (id: number, condition: number) => write(CONDITIONAL, id, 'x', condition);
  expect(await refusalOf(() => store.commit([note(1), badNote(2)]))).toBe('refused');
  expect(await refusalOf(() => store.commit([note(1), conditional(2, 0), note(3)]))).toBe('unmet');
  await store.commit([note(1), conditional(2, 1), note(3)]);
  await store.close();
  expect(await refusalOf(() => store.commit([note(4)]))).toBe('closed');
});
