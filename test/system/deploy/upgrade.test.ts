import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SCHEMA } from '../../../src/store/postgres/schema/versions.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../../src/store/sqlite/open.ts';
import { copyFixture, type FixtureCopy } from '../../fixtures/folder.ts';
import { waitFor } from '../../support/answers.ts';
import { runHere } from '../../support/run-here.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { useFolders } from './stand.ts';

const PATIENCE = 30_000;
const FIXTURES = join(import.meta.dir, '../../fixtures');

const { atEnd, newFolder } = useFolders();

/** Copies the data folder of 0.1. */
function folderOf01(): FixtureCopy {
  const copy = copyFixture();
  atEnd(() => rmSync(copy.data, { recursive: true, force: true }));
  return copy;
}

function rowsOf<Row>(file: string, sql: string): Row[] {
  using db = new Database(file, { readonly: true });
  return db.query<Row, []>(sql).all();
}

function change(file: string, sql: string): void {
  using db = new Database(file);
  db.run(sql);
}

const versionsIn = (file: string) =>
  rowsOf<{ room: string; version: number }>(file, 'SELECT room, version FROM migrations ORDER BY room, version');

/** The columns, indexes, triggers and views of a database; the order of the columns may differ. */
function schemaOf(file: string): readonly string[] {
  const made = rowsOf<{ type: string; name: string; sql: string | null }>(
    file,
    'SELECT type, name, sql FROM sqlite_schema',
  );
  const columns = made.flatMap(({ type, name }) =>
    type === 'table' ? rowsOf(file, `SELECT '${name}' AS "table", c.* FROM pragma_table_info('${name}') AS c`) : [],
  );
  const parts = made.flatMap(({ type, name, sql }) => (type === 'table' ? [] : [{ type, name, sql }]));
  return [...columns.map((column) => ({ ...(column as object), cid: 0 })), ...parts]
    .map((one) => JSON.stringify(one))
    .sort();
}

test('a data folder of 0.1 gets the same tables, indexes, triggers and views as a new one', async () => {
  const { file } = folderOf01();
  const fresh = join(newFolder(), 'signalbox.db');
  for (const one of [file, fresh]) {
    const { code, out } = await runHere(['db', 'migrate', '--data', dirname(one)]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^Updated the tables of /)]);
  }
  expect(schemaOf(file).length).toBeGreaterThan(300);
  expect(schemaOf(file)).toEqual(schemaOf(fresh));
});

test(
  'a data folder of 0.1 can be copied by this version before an upgrade, and keeps its tables until a server starts',
  async () => {
    const { data, file } = folderOf01();
    const before = versionsIn(file);
    const copy = join(data, 'copy.db');
    const { code, out, err } = await runHere(['ledger', 'backup', copy, '--data', data]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Not audited: the database has no ledger, or its ledger has an older version');
    expect(versionsIn(copy)).toEqual(before);
    expect(versionsIn(file)).toEqual(before);
    const journal = 'SELECT * FROM journal ORDER BY seq';
    expect(rowsOf(copy, journal)).toEqual(rowsOf(file, journal));
  },
  PATIENCE,
);

test.each([[['keys', 'list']], [['keys', 'create']], [['wallets', 'list']]])(
  'the command %p does not migrate tables of an earlier version, because a server of that version may use them',
  async (command) => {
    const { data, file } = folderOf01();
    const before = versionsIn(file);
    const { code, out, err } = await runHere([...command, '--data', data]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^signalbox: Cannot open the database .*: an older version of Signalbox wrote it; start the server once to bring it up to date\.\n$/,
    );
    expect(versionsIn(file)).toEqual(before);
  },
);

const COPY = join(temporaryFolder(), 'copy.db');
afterAll(() => rmSync(dirname(COPY), { recursive: true, force: true }));

/** The commands that read the tables of each module. */
const READERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ledger: [
    ['serve', '--port', '0', '--log', 'off'],
    ['ledger', 'audit'],
    ['ledger', 'backup', COPY],
    ['policy', 'check'],
    ['keys', 'list'],
    ['wallets', 'list'],
  ],
  learning: [
    ['learn', 'status'],
    ['policy', 'explain', '--message', 'Say hello.'],
  ],
  records: [
    ['policy', 'explain', '--decision', 'dec_0a4x1wm3zk0'],
    ['policy', 'diff', '95f1a7'],
  ],
};

describe('the server and all commands refuse a data folder of a newer version in one sentence, and leave it unchanged:', () => {
  test.each(Object.entries(READERS))(
    'its tables of %s',
    async (room, commands) => {
      const { data, file } = folderOf01();
      change(file, `INSERT INTO migrations VALUES ('${room}', 99, 0)`);
      const before = versionsIn(file);
      const ended = await Promise.all(commands.map((command) => runHere([...command, '--data', data])));
      const says = new RegExp(
        `^signalbox: Cannot (open|read) the database .*: a newer version of Signalbox wrote it; use that version or a later one \\(${room} tables: 99, known: \\d+\\)\\.\n$`,
      );
      for (const [at, { code, err }] of ended.entries()) {
        expect(err, commands[at]!.join(' ')).toMatch(says);
        expect(code).toBe(1);
      }
      expect(versionsIn(file)).toEqual(before);
      expect(readdirSync(dirname(COPY))).toEqual([]);
    },
    PATIENCE,
  );
});

/** Tables that only unreleased builds had: before 0.1, and between 0.1 and 0.2. */
const UNRELEASED: readonly (readonly [room: string, version: number])[] = [
  ['access', 2],
  ['ledger', 3],
  ['records', 3],
  ['access', 11],
  ['ledger', 13],
  ['learning', 2],
  ['records', 9],
];

describe('the server and all commands name an unreleased build that wrote a data folder, say what to do, and leave the folder unchanged:', () => {
  test.each(UNRELEASED)(
    'its tables of %s have version %d',
    async (room, version) => {
      const { data, file } = folderOf01();
      change(file, `DELETE FROM migrations WHERE room = '${room}' AND version > ${version}`);
      change(file, `INSERT OR IGNORE INTO migrations VALUES ('${room}', ${version}, 0)`);
      const before = versionsIn(file);
      const commands = [
        ...(READERS[room] ?? [['keys', 'list']]),
        ['db', 'status'],
        ['db', 'migrate'],
        ['serve', '--port', '0'],
      ];
      const ended = await Promise.all(commands.map((command) => runHere([...command, '--data', data])));
      const says = new RegExp(
        `^signalbox: Cannot (open|read) the database .*: a build from before 0\\.2 that was never released wrote it \\(${room} tables: ${version}\\), and no release can use it: export its charges with that build .*, then start with a new data folder or an empty database\\.\n$`,
      );
      for (const [at, { code, err }] of ended.entries()) {
        expect(err, commands[at]!.join(' ')).toMatch(says);
        expect(code).toBe(1);
      }
      expect(versionsIn(file)).toEqual(before);
      expect(readdirSync(dirname(COPY))).toEqual([]);
    },
    PATIENCE,
  );
});

test(
  'an upgrade that kill -9 interrupts changes nothing, and the next start does the whole upgrade',
  async () => {
    const { file } = folderOf01();
    const before = versionsIn(file);
    const script = join(FIXTURES, 'endless-migration.ts');
    const child = Bun.spawn([process.execPath, script, file], { stdout: 'ignore', stderr: 'inherit' });
    atEnd(() => child.kill('SIGKILL'));
    // At this point a part of the log is on the disk, because it is more than SQLite keeps in memory.
    const log = `${file}-wal`;
    await waitFor(() => existsSync(log) && statSync(log).size > 4e6, PATIENCE);
    child.kill('SIGKILL');
    await child.exited;

    expect(versionsIn(file)).toEqual(before);
    await (await openSqlite(file, ALL_TABLES)).close();
    const after = versionsIn(file).filter(({ room }) => room !== 'fence');
    const added = ALL_TABLES.flatMap(({ room, versions }) =>
      Object.keys(versions).flatMap((version) => (Number(version) < 20 ? [] : [{ room, version: Number(version) }])),
    );
    expect(after).toEqual(
      [...before.filter(({ room }) => room !== 'fence'), ...added].sort((one, other) =>
        one.room < other.room ? -1 : one.room > other.room ? 1 : one.version - other.version,
      ),
    );
    expect(rowsOf<{ integrity_check: string }>(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(rowsOf(file, "SELECT 1 FROM sqlite_schema WHERE name = 'endless'")).toEqual([]);
  },
  PATIENCE,
);

test('no version of the tables is ever edited: a change is a new version at the end', async () => {
  const known: unknown = await Bun.file(join(FIXTURES, 'migrations.json')).json();
  const found = ALL_TABLES.map(({ room, versions }) => {
    const hashes = Object.entries(versions).map(([version, sql]) => [version, hashOf(sql)]);
    return [room, Object.fromEntries(hashes)];
  });
  const inPostgres = Object.entries(SCHEMA).map(async ([version, { sql }]) => [
    version,
    hashOf(typeof sql === 'string' ? sql : await sql()),
  ]);
  expect({ ...Object.fromEntries(found), postgresql: Object.fromEntries(await Promise.all(inPostgres)) }).toEqual(
    known,
  );
});

/** The hash ignores white space, which has no meaning in SQL. */
function hashOf(sql: string): string {
  return new Bun.CryptoHasher('sha256').update(sql.replace(/\s+/g, ' ').trim()).digest('hex').slice(0, 16);
}
