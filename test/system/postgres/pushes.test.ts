import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { inTime } from '../../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type PostgresServers, startServers } from '../../support/postgres-servers.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, writePolicy } from '../../support/signalbox.ts';

/** Two servers that share one PostgreSQL database and follow pushes: a command pushes to both, and both report. */
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

test('a revision that a command pushes is active on both servers when the command returns', async () => {
  writeFileSync(join(folder, 'policy.yaml'), policyOf('strong_from: 0.07\n'));
  const { code, out, err } = await run('policy', 'push', folder);
  expect([code, err]).toEqual([0, '']);
  const pushed = JSON.parse(out) as { revision: string; lagging: string[] };
  expect(pushed.lagging).toEqual([]);
  expect(await Promise.all(fleet.servers.map(revisionOf))).toEqual([pushed.revision, pushed.revision]);
  const listed = JSON.parse((await run('instances')).out) as { is_split: boolean; data: { pushed: number }[] };
  expect([listed.is_split, listed.data.map((one) => one.pushed)]).toEqual([false, [1, 1]]);
});

/** Four times the promised 2 s, ms. */
const EVERYWHERE_MS = 8_000;

test('callers see a pushed revision on both servers within the promised time', async () => {
  let worth = 0.1;
  await inTime(EVERYWHERE_MS, async () => {
    worth += 0.01;
    writeFileSync(join(folder, 'policy.yaml'), policyOf(`strong_from: ${worth.toFixed(2)}\n`));
    const before = await revisionOf(fleet.servers[0]!);
    const pushing = run('policy', 'push', folder, '--from', before);
    for (const one of fleet.servers) await waitFor(async () => (await revisionOf(one)) !== before);
    expect((await pushing).code).toBe(0);
  });
});

test('a server that starts later uses the pushed revision, and is listed', async () => {
  const third = await fleet.start();
  expect(await revisionOf(third)).toBe(await revisionOf(fleet.servers[0]!));
  const count = async () => (JSON.parse((await run('instances')).out) as { data: unknown[] }).data.length;
  expect(await count()).toBe(3);
});

test('if servers have different variables, the list of servers says that they run the same push with different providers', async () => {
  const other = '  other: { adapter: openai-compatible, base_url: "http://127.0.0.1:1", api_key_env: OTHER_KEY }\n';
  writeFileSync(join(folder, 'policy.yaml'), policyOf().replace(/^default_weights/m, `${other}$&`));
  expect((await run('policy', 'push', folder, '--from', await revisionOf(fleet.servers[0]!))).code).toBe(0);
  await fleet.start({ env: { ...UPSTREAM_ENV, OTHER_KEY: 'sk-other' } });
  const { code, out } = await runHere(['instances'], { DATABASE_URL: fleet.url });
  expect([code, out]).toEqual([
    2,
    expect.stringMatching(/\nThe servers run the same push with different variables set/),
  ]);
});
