import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { SCHEMA } from '../../../src/store/postgres/schema/versions.ts';
import { tempFolder } from '../../store/support.ts';
import { runHere } from '../../support/run-here.ts';
import { freshDatabase, laidDatabase } from '../../support/shared-postgres.ts';

test('db migrate creates the tables of a database, and db status reports their versions', async () => {
  using folder = tempFolder();
  const run = (...args: string[]) => runHere(['db', ...args, '--data', folder.path]);
  expect(await run('status')).toEqual({
    code: 2,
    out: expect.stringMatching(
      /^Database {2}.*signalbox\.db\nTables {4}none yet\nProgram {3}version \d+\. To update them, run `\.\/signalbox db migrate`\./,
    ),
    err: '',
  });
  expect(await run('migrate')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Updated the tables of .* to version \d+\.$/m),
  });
  expect(await run('migrate')).toMatchObject({ code: 0, out: expect.stringMatching(/are up to date/) });
  const { code, out } = await run('status', '--json');
  const state = JSON.parse(out) as Record<string, unknown>;
  expect({ code, state }).toMatchObject({
    code: 0,
    state: { database: join(folder.path, 'signalbox.db'), is_served: false, is_current: true },
  });
  expect(state.version).toBe(state.known);
  expect(await run('accept')).toEqual({
    ...{ code: 0, err: '' },
    out: 'There is nothing to accept: SQLite has no failover. For a PostgreSQL database, set DATABASE_URL.\n',
  });
  expect(await runHere(['instances', '--data', folder.path])).toEqual({
    ...{ code: 0, out: 'No running server uses this database.\n', err: '' },
  });
});

test('commands name a database with missing or newer tables, without its password', async () => {
  await using database = await freshDatabase();
  const { url } = database;
  const place = url.replace(/\/\/[^@]*@/, '//');
  const env = { DATABASE_URL: url.replace('@', ':hunter2@') };
  const errorOf = async (...args: string[]) => (await runHere(args, env)).err;
  for (const args of [
    ['keys', 'list'],
    ['policy', 'history'],
    ['alerts', 'list'],
  ])
    expect(await errorOf(...args)).toBe(
      `signalbox: The database ${place} has no tables; start the server once to create them.\n`,
    );
  expect(await errorOf('db', 'accept')).toBe(
    `signalbox: Cannot use the database ${place}: it has no tables yet; run \`./signalbox db migrate\` first.\n`,
  );
  expect(await errorOf('policy', 'diff', 'abcdef')).toContain(`${place} has no tables yet, and `);
  await runHere(['db', 'migrate'], env);
  const unknown = await errorOf('policy', 'diff', 'abcdef');
  expect(unknown).toContain(`${place} has no revision that begins with it`);
  expect(unknown).not.toContain('hunter2');
  await database.run(`INSERT INTO signalbox_schema VALUES (1000, 1000, '9.0.0')`);
  for (const args of [['db', 'migrate'], ['keys', 'list'], ['policy', 'history'], ['serve']])
    expect(await errorOf(...args)).toMatch(
      new RegExp(
        `^signalbox: Cannot use the database ${place}: Signalbox 9\\.0\\.0 has migrated its tables to version 1000, .*: use that program or a later one\\.\n$`,
      ),
    );
});

test('db status names the release from which on the tables can be used, although a later release has migrated them', async () => {
  await using database = await laidDatabase();
  const first = 'SELECT min(version) FROM signalbox_schema';
  await database.run(`UPDATE signalbox_schema SET program = '0.2.0' WHERE version = (${first})`);
  const status = async () => (await runHere(['db', 'status'], { DATABASE_URL: database.url })).out;
  const add = (serves: string) =>
    database.run(`INSERT INTO signalbox_schema SELECT max(version) + 1, ${serves}, '100.0.0' FROM signalbox_schema`);
  await add('min(version)');
  expect(await status()).toMatch(/^Tables {4}version \d+, by Signalbox 100\.0\.0; for Signalbox 0\.2\.0 and later$/m);
  await add('max(version) + 1');
  expect(await status()).toMatch(/; for Signalbox 100\.0\.0 and later$/m);
});

test('servers and commands say that a build before the first release created the tables of a database, and change nothing', async () => {
  await using database = await laidDatabase();
  const env = { DATABASE_URL: database.url };
  const place = database.url.replace(/\/\/[^@]*@/, '//');
  const commands = ['db migrate', 'db status', 'keys list', 'policy history', 'ledger audit', 'serve'];
  await database.run('DELETE FROM signalbox_schema WHERE version > (SELECT min(version) FROM signalbox_schema)');
  for (const version of [1, 23]) {
    await database.run(`UPDATE signalbox_schema SET version = ${version}, serves = 1`);
    const before = await database.run('SELECT * FROM signalbox_schema');
    for (const command of commands)
      expect((await runHere(command.split(' '), env)).err, command).toBe(
        `signalbox: Cannot use the database ${place}: a build from before the first release wrote it (tables of version ${version}), and no release can use it: export its charges with that build (\`signalbox ledger export\`), then start with a new data folder or an empty database.\n`,
      );
    expect(await database.run('SELECT * FROM signalbox_schema')).toEqual(before);
  }
});

test('db commands name a database that they cannot use, and say what to do', async () => {
  await using database = await freshDatabase();
  const { server, name, url } = database;
  await server.run(`CREATE ROLE ${name}_weak LOGIN`);
  const run = async (at: string) => (await runHere(['db', 'migrate'], { DATABASE_URL: at })).err;
  const place = url.replace(/\/\/[^@]*@/, '//');
  expect(await run(`${url}_absent`)).toContain(
    `Cannot reach the database ${place}_absent: there is no database of that name; create it first.`,
  );
  const weak = new URL(url);
  weak.username = `${name}_weak`;
  const connection = await Connection.open(addressOf(weak.href));
  const refused = await migrate(connection, SCHEMA, 'test').catch(String);
  await connection.close();
  expect(refused).toContain('its user lacks the right CREATE on its schema');
  await server.run(`DROP ROLE ${name}_weak`);
});
