import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** `signalbox policy push`, `history` and `rollback`, with a running server on SQLite and without one. */
const upstream = useUpstream();
const policyOf = (more = '') => testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
const data = temporaryFolder();
let folder: string;
let box: Signalbox;
const start = () =>
  startSignalbox({
    data,
    // The commands' environment does not have the server's own key.
    env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box?.key ?? KEY },
    args: ['--policies', folder, '--policies-from', 'store'],
  });
const KEY = `sb_live_test00000001_${'A'.repeat(43)}`;
beforeAll(async () => {
  folder = writePolicy(policyOf());
  box = await start();
});
afterAll(() => box.stop());

const served = async () => {
  const { revision, files } = (await (await box.get('/admin/policy')).json()) as { revision: string; files: string[] };
  return { revision, files };
};
const write = (text: string) => writeFileSync(join(folder, 'policy.yaml'), text);
const pushed = async (...args: string[]) => {
  const { code, out, err } = await box.run('policy', ...args, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as PushOutput;
};

test('before the first push the policy files of the folder are active; after the push, edits of the files have no effect', async () => {
  const before = await served();
  write(policyOf('strong_from: 0.07\n'));
  const first = await pushed('push', folder);
  expect(first).toMatchObject({ id: 1, previous: null, lagging: [] });
  // The push is compared with the files that the server used until then.
  expect(first.guarded).toEqual([]);
  expect(first.difference.changes.map(({ section }) => section)).toEqual(['strong_from']);
  // The revision has the ID of the server, whose variables differ from the command's.
  expect(await served()).toEqual({ revision: first.revision, files: ['policy.yaml'] });
  expect(first.revision).not.toBe(before.revision);
  write(policyOf('strong_from: 0.08\n'));
  await box.post('/admin/policy/reload', {});
  expect((await served()).revision).toBe(first.revision);
});

test('a policy push must name the revision that it began from, and must change something', async () => {
  const { revision } = await served();
  const unstated = await box.run('policy', 'push', folder);
  expect([unstated.code, unstated.err]).toEqual([1, expect.stringContaining(`--from ${revision}`)]);
  const stale = await box.run('policy', 'push', folder, '--from', '0123456789abcdef');
  expect([stale.code, stale.err]).toEqual([1, expect.stringContaining(', not 0123456789abcdef')]);
  const second = await pushed('push', folder, '--from', revision);
  expect([second.id, second.previous, (await served()).revision]).toEqual([2, revision, second.revision]);
  // The table shows each change in a single line, however large the change is.
  const { out } = await box.run('trail', 'list', '--limit', '2');
  expect(
    out
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .slice(0, 3)
      .every((line) => /^(TIME|\d{4}-)/.test(line)),
  ).toBe(true);
  expect(out).toContain('patch=diff --git a/policy.yaml b/policy.yaml … ');
  const again = await box.run('policy', 'push', folder, '--from', '2');
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('already active, as push 2')]);
});

test('a policy push shows the difference from the active policy, even if the push is refused because it does not name its base', async () => {
  const { revision } = await served();
  write(policyOf('strong_from: 0.085\n'));
  const unstated = await box.run('policy', 'push', folder);
  expect([unstated.code, unstated.err]).toEqual([1, expect.stringContaining(`--from ${revision}`)]);
  expect(unstated.out).toContain('~ strong_from: 0.08 → 0.085');
  expect((await served()).revision).toBe(revision);
});

test('the server does not store an invalid policy or a policy that it cannot serve', async () => {
  const { revision } = await served();
  write(policyOf('language_wort: 0.08\n'));
  const wrong = await box.run('policy', 'push', folder, '--from', '2');
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('policy.yaml:')]);
  // The commands check the policy as if every variable were set.
  write(policyOf('strong_from: 0.09\n').replaceAll(Object.keys(UPSTREAM_ENV)[0]!, 'NOT_SET_HERE'));
  const refused = await box.run('policy', 'push', folder, '--from', '2');
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringMatching(/refuses the revision: .*[^.]\. The revision is active on no server\./),
  ]);
  expect((await served()).revision).toBe(revision);
});

const history = async () =>
  (JSON.parse((await box.run('policy', 'history', '--json')).out) as { data: readonly Entry[] }).data;

test('an earlier revision can be activated again, and the history says who has pushed what', async () => {
  const [second, first] = (await history()).filter(({ state }) => state === 'accepted');
  expect([second?.is_in_force, first?.is_in_force]).toEqual([true, false]);
  const back = await pushed('rollback', first!.revision.slice(0, 8), '--policies', folder);
  expect([back.revision, (await served()).revision]).toEqual([first!.revision, first!.revision]);
  expect(back.difference.changes.map(({ section }) => section)).toEqual(['strong_from']);
  const { out } = await box.run('policy', 'history');
  expect(out).toContain('in force');
  expect(out).toContain('refused');
  const [newest] = await history();
  expect(newest).toMatchObject({ id: 4, is_in_force: true, author: { kind: 'cli', name: expect.any(String) } });
});

test('a server starts with the stored policy revision, even if the revision was pushed while no server ran', async () => {
  const { revision } = await served();
  await box.stop();
  box = await start();
  expect(await served()).toEqual({ revision, files: ['policy.yaml'] });
  await box.stop();
  write(policyOf('strong_from: 0.05\n'));
  const { code, out: text } = await box.run('policy', 'push', folder, '--from', revision);
  expect([code, text]).toEqual([0, expect.stringMatching(/^Stored: .*push 5.*\nNo running server follows pushes/m)]);
  // No server serves the revisions, so they are not called active.
  const again = await box.run('policy', 'push', folder, '--from', '5');
  expect(again.code).toBe(1);
  expect(again.err).toContain('already stored, as push 5. No running server follows pushes');
  const history = async () => (await box.run('policy', 'history', '--limit', '1')).out;
  expect(await history()).toMatch(/accepted\n\nNo running server follows pushes/);
  box = await start();
  expect(await history()).toMatch(/accepted +in force\n/);
  expect((await served()).revision).not.toBe(revision);
  const { out } = await box.run('instances', '--json');
  expect(JSON.parse(out)).toMatchObject({ data: [{ policies_from: 'store', pushed: 5 }] });
});

interface PushOutput {
  readonly id: number;
  readonly revision: string;
  readonly previous: string | null;
  readonly lagging: string[];
  readonly guarded: readonly unknown[];
  readonly difference: { readonly changes: readonly { readonly section: string }[] };
}

interface Entry {
  readonly id: number;
  readonly revision: string;
  readonly state: string;
  readonly is_in_force: boolean;
  readonly author: { readonly kind: string } | null;
}
