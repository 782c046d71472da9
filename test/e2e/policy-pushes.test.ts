import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { PolicyPushes, PolicyWrite } from '../../src/admin/policy-answers.ts';
import { ClusterStatus } from '../../src/admin/status.ts';
import { World } from '../store/hostile/world.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { startOver } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, type Signalbox, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Two servers that share a database and follow the revisions that are pushed to it. Each server has its own folder for plugins. */
const upstream = useUpstream();
const policyOf = (more = '') => testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
const pluginOf = (name: string, sign: number) => `import { defineStrategy, Type } from 'signalbox/plugin';
export const ${name} = defineStrategy({
  name: '${name}', status: 'alpha', options: Type.Object({}),
  prepare: () => ({ reason: 'own', score: ({ n, quality }, out) => { for (let i = 0; i < n; i++) out[i] = ${sign} * quality[i]; } }),
});
`;
let world: World;
let folders: string[];
let two: [Signalbox, Signalbox];
beforeAll(async () => {
  world = new World();
  folders = [writePolicy(policyOf()), writePolicy(policyOf())];
  const start = (name: string, folder: string) =>
    startOver(world, name, {
      env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: key },
      args: ['--policies', folder, '--policies-from', 'store', '--allow-policy-writes'],
    });
  const key = makeTestKey();
  two = [await start('a', folders[0]!), await start('b', folders[1]!)];
});
afterAll(() => Promise.all(two.map((one) => one.stop())));

const revisionOf = async (one: Signalbox): Promise<string> => {
  const { revision } = (await (await one.get('/admin/policy')).json()) as { revision: string };
  return revision;
};
const revisions = () => Promise.all(two.map(revisionOf));

async function push(one: Signalbox, body: object, from: string | null = null): Promise<Response> {
  const headers = { ...(from !== null && { 'if-match': `"${from}"` }) };
  return await one.post('/admin/policy/pushes', body, {
    headers: { authorization: `Bearer ${one.key}`, 'content-type': 'application/json', ...headers },
  });
}
const filesOf = (...texts: string[]) => ({
  files: texts.map((text, at) => ({ name: at === 0 ? 'policy.yaml' : `more-${at}.yaml`, text })),
});
const written = async (answer: Response) => Value.Parse(PolicyWrite, await answer.json());
const history = async (one: Signalbox) =>
  Value.Parse(PolicyPushes, await (await one.get('/admin/policy/pushes')).json());
const cluster = async (one: Signalbox) => Value.Parse(ClusterStatus, await (await one.get('/admin/cluster')).json());

describe('a pushed revision', () => {
  test('a pushed revision is active on both servers when the push returns, whatever their folders contain', async () => {
    const [a, b] = two;
    const before = await revisionOf(a);
    const answer = await written(await push(a, filesOf(policyOf('strong_from: 0.07\n')), before));
    expect(answer).toMatchObject({
      previous: before,
      lagging: [],
      files: [{ name: 'policy.yaml', change: 'changed' }],
    });
    expect(await revisions()).toEqual([answer.revision, answer.revision]);
    const { is_split, data } = await cluster(b);
    expect([is_split, data.map(({ policies_from, pushed }) => [policies_from, pushed])]).toEqual([
      false,
      [
        ['store', 1],
        ['store', 1],
      ],
    ]);
  });

  test('a push must name the revision that it began from, and of two simultaneous pushes one is stored', async () => {
    const [a, b] = two;
    const from = await revisionOf(a);
    const files = (worth: string) => filesOf(policyOf(`strong_from: ${worth}\n`));
    await expectError(await push(a, files('0.01')), 'missing_field', 'If-Match');
    await expectError(await push(a, files('0.01'), '0123456789abcdef'), 'precondition_failed');
    const both = await Promise.all([push(a, files('0.02'), from), push(b, files('0.03'), from)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const [one, other] = await revisions();
    expect(one).toBe(other!);
  });

  test('a pushed revision with a mistake, a failing test case or a secret is not stored', async () => {
    const [a] = two;
    const from = await revisionOf(a);
    const { length } = (await history(a)).data;
    await expectError(await push(a, filesOf(policyOf('nonsense: 1\n')), from), 'policy_invalid');
    await expectError(await push(a, filesOf(policyOf(), '# one\u2028# two\n'), from), 'policy_invalid');
    const failing = `cases: [{ name: never, given: {}, expect: { rejected: { best: context } } }]\n`;
    await expectError(await push(a, filesOf(policyOf(failing)), from), 'policy_invalid');
    const secret = `# sk-proj-${'a1B2'.repeat(12)}\n`;
    await expectError(await push(a, filesOf(policyOf(), secret), from), 'invalid_value', 'files');
    expect((await history(a)).data).toHaveLength(length);
  });

  test('if another server lacks a plugin, or has it with other code, it refuses the revision, which becomes active nowhere', async () => {
    const [a, b] = two;
    const from = await revisionOf(a);
    const text = policyOf('strong_from: 0.04\n');
    const mine = 'plugins: [./mine.ts]\n';
    await Bun.write(join(folders[0]!, 'mine.ts'), pluginOf('mine', 1));
    const missing = await expectError(await push(a, filesOf(text, mine), from), 'policy_invalid');
    expect(missing.message).toContain('The code of plugin `./mine.ts` is missing on this server');
    await Bun.write(join(folders[1]!, 'mine.ts'), pluginOf('mine', -1));
    const other = await expectError(await push(a, filesOf(text, mine), from), 'policy_invalid');
    expect(other.message).toContain('active on no server');
    expect(await revisions()).toEqual([from, from]);
    expect((await history(b)).data.slice(0, 2)).toMatchObject([
      { state: 'refused', is_in_force: false, reason: expect.stringContaining('./mine.ts') },
      { state: 'refused' },
    ]);
    await Promise.all(folders.map((folder) => Bun.write(join(folder, 'ours.ts'), pluginOf('ours', 1))));
    const ours = await written(await push(a, filesOf(text, 'plugins: [./ours.ts]\n'), from));
    expect(ours).toMatchObject({ lagging: [], guarded: [{ section: 'plugins' }] });
    expect(await revisions()).toEqual([ours.revision, ours.revision]);
  });

  test('a pushed revision is listed with its author, and an earlier one is activated again by its number', async () => {
    const [a, b] = two;
    const before = await revisionOf(a);
    const [newest, ...others] = (await history(a)).data.filter(({ state }) => state === 'accepted');
    expect(newest).toMatchObject({ revision: before, is_in_force: true, author: { kind: 'key' } });
    const first = others.at(-1)!;
    const answer = await written(await push(b, { revision: `${first.id}` }));
    expect([answer.revision, answer.previous, answer.lagging]).toEqual([first.revision, before, []]);
    expect(await revisions()).toEqual([first.revision, first.revision]);
    await expectError(await push(b, { revision: '999' }), 'not_found');
  });

  test('PUT /admin/policy/files also pushes a revision, and changes no file', async () => {
    const [a, b] = two;
    const text = await Bun.file(join(folders[0]!, 'policy.yaml')).text();
    const answer = await fetch(`${b.url}/admin/policy/files`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${b.key}`,
        'content-type': 'application/json',
        'if-match': await revisionOf(b),
      },
      body: JSON.stringify({ changes: [{ name: 'rules.yaml', text: 'unstated_languages: exclude\n' }] }),
    });
    const { revision } = await written(answer);
    expect(await revisions()).toEqual([revision, revision]);
    expect(await Bun.file(join(folders[0]!, 'policy.yaml')).text()).toBe(text);
    expect(await Bun.file(join(folders[1]!, 'rules.yaml')).exists()).toBe(false);
    const files = (await (await a.get('/admin/policy/files')).json()) as { on_disk: string };
    expect(files.on_disk).toBe('same');
  });
});

test('a starting server uses the pushed policy revision, and enters the revision in the audit trail once', async () => {
  const [a] = two;
  const third = await startOver(world, 'c', {
    env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: a.key },
    args: ['--policies', folders[0]!, '--policies-from', 'store'],
  });
  const revision = await revisionOf(a);
  await waitFor(async () => (await revisionOf(third)) === revision);
  const trail = (await (await a.get(`/admin/trail?subject=${revision}`)).json()) as { data: { action: string }[] };
  expect(trail.data.filter(({ action }) => action === 'load')).toHaveLength(1);
  await third.stop();
});
