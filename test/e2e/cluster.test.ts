import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { ClusterStatus } from '../../src/admin/status.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { REPORT_EVERY_MS } from '../../src/server/instance-report.ts';
import { World } from '../store/hostile/world.ts';
import { waitFor } from '../support/answers.ts';
import { startOver } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

/** Servers that share a database, as `GET /admin/cluster`, the metrics and `signalbox instances` show them. */
const policyOf = (more = '') => testPolicy({ fake: 'http://127.0.0.1:1' }, { best: { endpoints: ['fake'] } }, more);
const box = useSignalbox(() => ({ policy: policyOf(), env: UPSTREAM_ENV }));

/** Servers read the reports of the others twenty times a second. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === REPORT_EVERY_MS ? 50 : ms, run),
};
const folders = [writePolicy(policyOf()), writePolicy(policyOf())];
const world = new World();
let two: Signalbox[];
beforeAll(async () => {
  const options = (folder: string) => ({ env: UPSTREAM_ENV, args: ['--policies', folder], timers: quick });
  const a = await startOver(world, 'a', options(folders[0]!));
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: a.key };
  two = [a, await startOver(world, 'b', { ...options(folders[1]!), env })];
});
afterAll(() => Promise.all(two.map((one) => one.stop())));

async function clusterAt(one: Signalbox) {
  const answer = await one.get('/admin/cluster');
  return Value.Parse(ClusterStatus, await answer.json());
}

async function figure(one: Signalbox, name: string): Promise<number> {
  const page = await (await one.get('/metrics')).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(page)?.[1]);
}

test('a server on SQLite shows only itself, over HTTP and with the command', async () => {
  const shown = await clusterAt(box);
  const { revision } = (await (await box.get('/admin/policy')).json()) as { revision: string };
  expect(shown).toEqual({
    object: 'cluster',
    is_split: false,
    data: [
      {
        ...{ slot: 0, epoch: 1, name: expect.stringContaining(`:${process.pid}`), version: expect.any(String) },
        ...{ policy_revision: revision, policy_since: expect.any(String), policy_rank: 1, policy_error: null },
        ...{ policies_from: 'files', pushed: null, clock_offset_ms: 0, renewed: null },
      },
    ],
  });
  const listed = await box.run('instances', '--json');
  expect([listed.code, JSON.parse(listed.out)]).toEqual([0, shown]);
  expect((await box.run('instances')).out).toContain(revision);
});

test('the command `servers` does not show a server that has ended', async () => {
  const other = await startSignalbox({ policy: policyOf(), env: UPSTREAM_ENV, data: join(box.data, 'ended') });
  await other.stop();
  expect(await other.run('instances')).toMatchObject({ code: 0, out: 'No running server uses this database.\n' });
});

test('each of two servers shows both servers, that one server refuses a policy, that their policies differ, and that they agree again', async () => {
  const [a, b] = two as [Signalbox, Signalbox];
  await waitFor(async () => (await figure(a, 'signalbox_instances')) === 2);
  expect(await clusterAt(a)).toMatchObject({ is_split: false, data: [{ policy_error: null }, { policy_error: null }] });
  await Bun.write(join(folders[0]!, 'more.yaml'), 'strong_from: 0.07\n');
  await Bun.write(join(folders[1]!, 'more.yaml'), 'language_wort: 0.07\n');
  await Promise.all(two.map((one) => one.post('/admin/policy/reload', {})));
  // A server's report is written shortly after its answer.
  const shownBy = (one: Signalbox) =>
    waitFor(async () => {
      const { data, is_split } = await clusterAt(one);
      return is_split && data.some(({ policy_error }) => policy_error !== null) ? data : null;
    });
  for (const one of two) {
    const [first, second] = await shownBy(one);
    expect([first?.policy_error, second?.policy_error]).toEqual([null, expect.stringContaining('more.yaml:1:1')]);
    expect(first?.policy_revision).not.toBe(second?.policy_revision ?? '');
    expect(second?.renewed).not.toBeNull();
  }
  await waitFor(async () => (await figure(b, 'signalbox_instance_policies')) === 2);
  await Bun.write(join(folders[1]!, 'more.yaml'), 'strong_from: 0.07\n');
  await b.post('/admin/policy/reload', {});
  await waitFor(async () => !(await clusterAt(a)).is_split);
  await waitFor(async () => (await figure(a, 'signalbox_instance_policies')) === 1);
});
