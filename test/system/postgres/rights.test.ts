import { expect, test } from 'bun:test';
import { startServers } from '../../support/postgres-servers.ts';
import { runCommand } from '../../support/signalbox.ts';
import { textOf } from '../deploy/manifests.ts';
import { audit } from './stage.ts';

/** Returns the statements of the page: those that create users and the database, and those that run inside the database. */
function statementsOfPage(): [outside: string, inside: string] {
  const [, block = ''] = /```sql\n([\s\S]*?)```/.exec(textOf('docs/operate/postgresql.md')) ?? [];
  const at = block.indexOf('ALTER DEFAULT');
  expect(at).toBeGreaterThan(0);
  return [block.slice(0, at), block.slice(at)];
}

test('with the users of the page, the owner migrates and the other user serves, and learns who must migrate while there are no tables', async () => {
  await using fleet = await startServers(0, {}, true);
  const { database } = fleet;
  const [outside, inside] = statementsOfPage();
  // Another role replaces a user that the tests already have.
  const renamed = (text: string) => text.replaceAll(/\bsignalbox\b/g, 'serving');
  for (const statement of renamed(outside).split(';\n').filter(Boolean)) await database.run(statement);
  for (const statement of renamed(inside).split(';\n').filter(Boolean)) await database.run(statement, 'serving');
  const as = (user: string) => ({ DATABASE_URL: `postgres://${user}@127.0.0.1:${database.port}/serving` });
  await expect(fleet.start({ env: as('serving') })).rejects.toThrow(
    /it has no tables yet, and its user lacks the right CREATE on its schema or does not own the tables: run `\.\/signalbox db migrate` as their owner/,
  );
  expect(await runCommand(['db', 'migrate'], as('signalbox_owner'))).toMatchObject({ code: 0, err: '' });
  const server = await fleet.start({ env: as('serving') });
  const chat = { model: 'sim-small', messages: [{ role: 'user', content: 'Hi.' }] };
  expect((await server.post('/v1/chat/completions', chat)).status).toBe(200);
  expect(await audit(server)).toBe('nothing wrong');
  const tables = await database.run(
    `SELECT DISTINCT tableowner AS owner FROM pg_tables WHERE schemaname = 'public'`,
    'serving',
  );
  expect(tables).toEqual([{ owner: 'signalbox_owner' }]);
});
