import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declaredTeam, made, patch, SEARCH, spend, spentIn } from '../../e2e/team-budgets-support.ts';
import { waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { startServers } from '../../support/postgres-servers.ts';
import { type Signalbox, withKey, writePolicy } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

const upstream = useUpstream();
const base = testPolicy({ first: upstream.url }, { m: { endpoints: ['first'] } });
const declared = (entry: string, name: string) => base + declaredTeam(entry, name);

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => void rmSync(folder, { recursive: true, force: true })));

test('two servers that share one PostgreSQL database count a renamed team in one window, also after one restarts', async () => {
  const teams = 'teams:\n  - { name: ads }\n';
  const folder = writePolicy(base + teams);
  folders.push(folder);
  const options = { env: UPSTREAM_ENV, args: ['--policies', folder] };
  await using fleet = await startServers(2, options);
  const [one, other] = fleet.servers as [Signalbox, Signalbox];
  await made(one, '/admin/teams', { name: 'search' });
  const { key } = await made(one, '/admin/keys', { team: 'search' });
  await waitFor(async () => (await other.get('/v1/models', withKey(key))).status === 200);
  writeFileSync(join(folder, 'policy.yaml'), base + teams + SEARCH);
  for (const box of [one, other]) {
    const reloaded = await box.post('/admin/policy/reload', {});
    expect(await reloaded.json()).toMatchObject({ revision: expect.any(String) });
  }
  const before = await spend(one, key);
  expect(await patch(other, '/admin/teams/search', { name: 'find' })).toBe(200);
  let spent = before + (await spend(other, key)) + (await spend(one, key));
  await fleet.stop(other);
  const third = await fleet.start(options);
  spent += await spend(third, key);
  for (const box of [one, third])
    await waitFor(async () => {
      const found = await spentIn(box);
      return found.length === 1 && Math.abs(found[0]! - spent) < 1e-6;
    });
});

test('two servers that share one PostgreSQL database rename a declared team once, and count the team in one window', async () => {
  const folder = writePolicy(declared('name: billing', 'billing'));
  folders.push(folder);
  await using fleet = await startServers(2, { env: UPSTREAM_ENV, args: ['--policies', folder] });
  const [one, other] = fleet.servers as [Signalbox, Signalbox];
  const { key } = await made(one, '/admin/keys', { team: 'billing' });
  await waitFor(async () => (await other.get('/v1/models', withKey(key))).status === 200);
  const before = (await spend(one, key)) + (await spend(other, key));
  writeFileSync(join(folder, 'policy.yaml'), declared('name: finance, formerly: billing', 'finance'));
  await Promise.all([one, other].map((box) => box.post('/admin/policy/reload', {})));
  const spent = before + (await spend(one, key)) + (await spend(other, key));
  for (const box of [one, other]) {
    const { data } = (await (await box.get('/admin/teams')).json()) as { data: readonly { name: string }[] };
    expect(data.map(({ name }) => name)).toEqual(['finance']);
    await waitFor(async () => {
      const found = await spentIn(box);
      return found.length === 1 && Math.abs(found[0]! - spent) < 1e-6;
    });
  }
});
