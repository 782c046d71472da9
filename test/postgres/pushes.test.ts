import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type PostgresServers, startServers } from '../support/postgres-servers.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, writePolicy } from '../support/signalbox.ts';

/** Two servers at one PostgreSQL that follow pushes: a command pushes to both, and both report. */
const policyOf = (more = '') => testPolicy({ fake: 'http://127.0.0.1:1' }, { best: { endpoints: ['fake'] } }, more);
const folder = writePolicy(policyOf());
let fleet: PostgresServers;
beforeAll(async () => {
  fleet = await startServers(2, { args: ['--policies', folder, '--policies-from', 'store'], env: UPSTREAM_ENV });
});
afterAll(() => fleet[Symbol.asyncDispose]());

const revisionOf = async (one: Signalbox): Promise<string> =>
  ((await (await one.get('/admin/policy')).json()) as { revision: string }).revision;
const run = (...args: string[]) => runHere([...args, '--json'], { DATABASE_URL: fleet.url, ...UPSTREAM_ENV });

test('a revision that a command pushes is in force at both servers when the command returns', async () => {
  writeFileSync(join(folder, 'policy.yaml'), policyOf('language_worth: 0.07\n'));
  const { code, out, err } = await run('policy', 'push', folder);
  expect([code, err]).toEqual([0, '']);
  const pushed = JSON.parse(out) as { revision: string; lagging: string[] };
  expect(pushed.lagging).toEqual([]);
  expect(await Promise.all(fleet.servers.map(revisionOf))).toEqual([pushed.revision, pushed.revision]);
  const listed = JSON.parse((await run('instances')).out) as { is_split: boolean; data: { pushed: number }[] };
  expect([listed.is_split, listed.data.map((one) => one.pushed)]).toEqual([false, [1, 1]]);
});

test('a server that starts later comes up with it, and is listed', async () => {
  const third = await fleet.start();
  expect(await revisionOf(third)).toBe(await revisionOf(fleet.servers[0]!));
  const count = async () => (JSON.parse((await run('instances')).out) as { data: unknown[] }).data.length;
  expect(await count()).toBe(3);
});
