import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { BASELINE } from '../../src/store/sqlite/statement.ts';
import { waitFor } from '../support/answers.ts';
import { runHere } from '../support/run-here.ts';
import { tempFolder } from './support.ts';

/** Makes a data folder whose tables of a room have another version. */
async function folderWith(room: string, version: number) {
  const folder = tempFolder();
  const file = join(folder.path, 'signalbox.db');
  await (await openStore(file, { mode: 'serve' })).close();
  const rows = (sql: string) => {
    using db = new Database(file);
    return db.query(sql).all();
  };
  rows(`DELETE FROM migrations WHERE room = '${room}' AND version > ${BASELINE}`);
  rows(`UPDATE migrations SET version = ${version} WHERE room = '${room}'`);
  const versions = () => rows('SELECT room, version FROM migrations ORDER BY room');
  return { ...folder, file, versions, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  access: ['keys list', 'db status', 'db migrate'],
  ledger: ['serve --port 0 --log off', 'ledger audit', 'wallets list', 'policy check'],
  learning: ['learn status'],
  records: ['policy explain --decision dec_0a4x1wm3zk0', 'policy diff 95f1a7'],
};

const BEFORE = (room: string, version: number) =>
  `a build from before the first release wrote it \\(${room} tables: ${version}\\), and no release can use it: export its charges with that build .*, then start with a new data folder or an empty database`;
const AFTER = (room: string) =>
  `a newer version of Signalbox wrote it; use that version or a later one \\(${room} tables: 99, known: \\d+\\)`;

describe('the server and all commands refuse a data folder in one sentence, and leave it unchanged:', () => {
  const CASES = Object.keys(COMMANDS).flatMap((room) => [
    [room, 1, BEFORE(room, 1)] as const,
    [room, 20, BEFORE(room, 20)] as const,
    [room, 99, AFTER(room)] as const,
  ]);
  test.each(CASES)('tables of %s of version %d', async (room, version, why) => {
    using folder = await folderWith(room, version);
    const before = folder.versions();
    for (const command of COMMANDS[room]!) {
      const { code, err } = await runHere([...command.split(' '), '--data', folder.path]);
      expect(err, command).toMatch(
        new RegExp(`^signalbox: Cannot (open|read) the database .*signalbox\\.db: ${why}\\.\n$`),
      );
      expect(code).toBe(1);
    }
    expect(folder.versions()).toEqual(before);
  });
});

const ENDLESS = `import { openSqlite } from '${import.meta.dir}/../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '${import.meta.dir}/../../src/store/sqlite/open.ts';
const sql = \`CREATE TABLE endless AS
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, randomblob(1000) AS bytes FROM n\`;
await openSqlite(process.argv.at(-1), [...ALL_TABLES, { room: 'endless', versions: { 1: sql } }]);
`;

test('a migration that kill -9 interrupts changes nothing, and the next start does the whole migration', async () => {
  using folder = tempFolder();
  const file = join(folder.path, 'signalbox.db');
  const child = Bun.spawn([process.execPath, '-e', ENDLESS, file], { stdout: 'ignore', stderr: 'inherit' });
  // At this point a part of the log is on the disk, because it is more than SQLite keeps in memory.
  await waitFor(async () => (await Bun.file(`${file}-wal`).exists()) && Bun.file(`${file}-wal`).size > 4e6, 30_000);
  child.kill('SIGKILL');
  await child.exited;
  const tables = () => {
    using db = new Database(file, { readonly: true });
    return db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  };
  expect(tables()).toEqual([]);
  await (await openSqlite(file, ALL_TABLES)).close();
  expect(tables().map(({ name }) => name)).toContain('journal');
}, 60_000);
