import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layStore } from '../../support/empty-store.ts';
import { runHere } from '../../support/run-here.ts';
import { freshDatabase, type TestDatabase } from '../../support/shared-postgres.ts';

/**
 * These tests copy every table that both databases have, filled with arbitrary rows, to PostgreSQL and back. Other tests let a copy fail.
 */
const folder = mkdtempSync(join(tmpdir(), 'signalbox-test-'));
const [file, returned] = [join(folder, 'signalbox.db'), join(folder, 'returned.db')];
let database: TestDatabase;
let url: string;

beforeAll(async () => {
  await layStore(file);
  const db = new Database(file);
  for (const table of tablesIn(db)) for (const row of [0, 1]) fill(db, table, row);
  db.close();
  database = await freshDatabase();
  url = database.url;
});
afterAll(() => database[Symbol.asyncDispose]());

/**
 * Tables of the books and of running servers, which differ between the databases. `database-copy.test.ts` compares the output of commands
 * for them.
 */
const APART: ReadonlySet<string> = new Set([
  ...['accounts', 'adjustments', 'balances', 'budgets', 'checkpoint', 'funds', 'journal', 'spend', 'tariffs'],
  ...['decisions', 'fence', 'instance_reports', 'instances', 'migrations', 'record_indexing', 'traffic_counting'],
]);

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

interface Table {
  readonly name: string;
  readonly sql: string;
  readonly columns: readonly Column[];
}

const tablesIn = (db: Database): Table[] =>
  db
    .query<Omit<Table, 'columns'>, []>(
      `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
    )
    .all()
    .filter(({ name }) => !APART.has(name))
    .map((table) => ({ ...table, columns: db.query<Column, []>(`PRAGMA table_info(${table.name})`).all() }));

/** Columns that are null only in rows of version 0.1, or only together with another column. */
const NEEDED: ReadonlySet<string> = new Set(['seq', 'user']);

/**
 * Adds a row with values that its table permits. The first row has null in every column that may be null; the second has null only in
 * columns that must be null.
 */
function fill(db: Database, { name, sql, columns }: Table, row: number): void {
  const isOne = sql.includes('CHECK (id = 1)');
  if (isOne && (row > 0 || db.query(`SELECT 1 FROM ${name}`).get())) return;
  const values = columns.map(({ name: column, type, notnull, pk }) => {
    if (isOne && column === 'id') return 1;
    const words = [...(new RegExp(`\\b${column} (?:IN \\(|= )('[^)]*')`).exec(sql)?.[1]?.matchAll(/'(\w+)'/g) ?? [])];
    if (words.length > 0) return words.at(-1 - row)![1]!;
    if (notnull === 0 && pk === 0 && row === 0 && !NEEDED.has(column)) return null;
    if (name === 'logins' && column === 'user') return row === 0 ? 'u' : null;
    if (type === 'INTEGER') return 9_007_199_254_740_000 + row;
    if (type === 'REAL') return 0.1 + row / 3;
    if (type === 'BLOB') {
      const bytes = Number(new RegExp(`length\\(${column}\\) = (\\d+)`).exec(sql)?.[1] ?? 3);
      return Uint8Array.from({ length: bytes }, (_, at) => 255 - at - row);
    }
    return `{"${column}":"'é\\\\ 🎈\\n${row}"}`;
  });
  const marks = columns.map(() => '?').join(', ');
  try {
    db.query(`INSERT INTO ${name} VALUES (${marks})`).run(...values);
  } catch (cause) {
    throw new Error(`a row of ${name} (${sql}): ${values}`, { cause });
  }
}

/** Returns all rows of these tables. */
function contentOf(path: string): Record<string, unknown[]> {
  const db = new Database(path, { readonly: true });
  const found = tablesIn(db).map(({ name, columns }) => {
    const key = columns.filter(({ pk }) => pk > 0).map((column) => `"${column.name}"`);
    return [name, db.query(`SELECT * FROM ${name} ORDER BY ${key.join(', ')}`).all()] as const;
  });
  db.close();
  return Object.fromEntries(found);
}

const copy = (...ends: string[]) => runHere(['db', 'copy', ...ends, '--data', folder]);

test('a copy to PostgreSQL and back preserves the rows of every table', async () => {
  const before = contentOf(file);
  for (const [name, rows] of Object.entries(before)) expect([name, rows.length]).not.toEqual([name, 0]);
  expect(await copy(file, url)).toMatchObject({ code: 0, err: '' });
  expect(await copy(url, returned)).toMatchObject({ code: 0, err: '' });
  expect(contentOf(returned)).toEqual(before);
});

test('a failed copy to PostgreSQL leaves no row, and succeeds after its cause is removed', async () => {
  const broken = join(folder, 'broken.db');
  await Bun.write(broken, Bun.file(file));
  const change = (sql: string) => {
    const db = new Database(broken);
    db.run(sql);
    db.close();
  };
  // The copy has copied most tables before it reaches `users`: it goes by name. SQLite accepts this character and PostgreSQL refuses it.
  change("UPDATE users SET name = 'a' || char(0)");
  await using again = await freshDatabase();
  const failed = await copy(broken, again.url);
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toContain('Cannot copy the table users: ');
  for (const table of ['keys', 'teams', 'records']) expect(await again.run(`SELECT 1 FROM ${table}`)).toEqual([]);
  change("UPDATE users SET name = 'a'");
  expect(await copy(broken, again.url)).toMatchObject({ code: 0, err: '' });
  expect(await again.run('SELECT DISTINCT name FROM users')).toEqual([{ name: 'a' }]);
});

test('a failed copy to SQLite leaves no file, and succeeds after its cause is removed', async () => {
  const target = join(folder, 'third.db');
  await database.run('ALTER TABLE teams DROP CONSTRAINT teams_origin_check');
  await database.run("UPDATE teams SET origin = 'elsewhere'");
  const failed = await copy(url, target);
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toContain('Cannot copy the table teams: ');
  expect(readdirSync(folder).filter((name) => name.startsWith('third'))).toEqual([]);
  await database.run("UPDATE teams SET origin = 'api'");
  expect(await copy(url, target)).toMatchObject({ code: 0, err: '' });
  expect(contentOf(target).subjects).toEqual(contentOf(file).subjects);
});
