import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, writePolicy } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

const hello = [{ role: 'user', content: 'Say hello.' }];
const upstream = useUpstream();
const policy = testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } });
const live = useLivePolicy(() => ({ 'policy.yaml': policy }));
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(files: Readonly<Record<string, string>>): string {
  const folder = writePolicy(files);
  folders.push(folder);
  return folder;
}

const ask = async () =>
  (await answerOf(await live.box.post('/v1/chat/completions', { model: 'auto', messages: hello }))).platform;
/** A provider that serves only if no other provider can. */
const spare = `providers: { spare: { adapter: simulated, serve: when_alone } }
models:
  two: { provider: spare, price: { input: 1, output: 2 }, context_window: 8000, max_output: 800, quality: { default: 0.5 } }
`;
const FAILED = 'signalbox_policy_last_reload_failed';

describe('an invalid edit of the policy', () => {
  test('an invalid edit changes nothing, is visible everywhere at once, and is forgotten when it is undone', async () => {
    const { revision, since } = await live.status();
    const broken = policy.replace('context_window', 'contxt_window');
    const line = broken.split('\n').findIndex((text) => text.includes('contxt_window')) + 1;
    live.write('policy.yaml', broken);
    const status = await live.refused();
    expect(status).toMatchObject({ revision, since, last_reload: { cause: 'edit', result: 'refused', revision } });
    expect(status.last_reload.diagnostics.find(({ code }) => code === 'unknown-key')).toMatchObject({ line });
    expect(await ask()).toMatchObject({ routed_model: 'one', policy_revision: revision });

    const ready = await fetch(`${live.box.url}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: 'ready', policy: { state: 'edit_refused' } });
    const metrics = await live.metrics();
    expect(metrics.get(FAILED)).toBe(1);
    expect(metrics.get(`signalbox_policy_info{revision="${revision}"}`)).toBe(1);
    const logged = await waitFor(() => live.box.lines.find((text) => text.includes('policy refused')));
    expect(JSON.parse(logged)).toMatchObject({ level: 'error', revision });

    const error = await expectError(await live.reload(), 'policy_invalid');
    expect(error.details).toMatchObject({ policy_revision: revision, diagnostics: status.last_reload.diagnostics });

    live.write('policy.yaml', policy);
    await waitFor(async () => (await live.status()).last_reload.result === 'unchanged');
    expect((await live.metrics()).get(FAILED)).toBe(0);
    expect(await (await fetch(`${live.box.url}/readyz`)).json()).toMatchObject({ policy: { state: 'in_force' } });
    expect((await live.status()).since).toBe(since);
  });

  test('an empty or missing policy folder counts as an invalid edit', async () => {
    const { revision } = await live.status();
    rmSync(live.file('policy.yaml'));
    const status = await live.refused();
    expect(status.last_reload.message).toContain('has no .yaml files');
    rmSync(live.folder, { recursive: true });
    await waitFor(async () => (await live.status()).last_reload.message.includes('cannot be read'));
    expect(await ask()).toMatchObject({ policy_revision: revision });
    mkdirSync(live.folder);
    live.write('policy.yaml', policy);
    await waitFor(async () => (await live.status()).last_reload.result === 'unchanged');
  });
});

describe('GET /admin/policy', () => {
  test('GET /admin/policy shows the difference from the previous revision', async () => {
    const before = await live.status();
    live.write('policy.yaml', policy.replace('input: 1, output: 4, as_of', 'input: 2, output: 4, as_of'));
    const { previous, revision, last_reload: last } = await live.changedFrom(before.revision);
    const change = {
      change: 'changed',
      section: 'models',
      name: 'one',
      keys: [{ key: 'price.input', from: 1, to: 2 }],
    };
    expect(previous).toEqual({ revision: before.revision, changes: [change] });
    expect(last).toMatchObject({ result: 'applied', revision, changes: [change] });
    live.write('policy.yaml', policy);
    expect((await live.changedFrom(revision)).revision).toBe(before.revision);
  });

  test('GET /admin/policy and the reload need the scope admin', async () => {
    await expectError(await fetch(`${live.box.url}/admin/policy`), 'invalid_api_key');
    const authorization = `Bearer ${await live.box.makeKey()}`;
    await expectError(await live.box.get('/admin/policy', { headers: { authorization } }), 'insufficient_permissions');
    await expectError(await live.reload({ authorization }), 'insufficient_permissions');
  });
});

test('a reload with If-Match of a revision that is not active is refused with 412', async () => {
  const { revision } = await live.status();
  const error = await expectError(await live.reload({ 'if-match': '"0123456789abcdef"' }), 'precondition_failed');
  expect(error.details).toEqual({ policy_revision: revision });
  expect((await live.reload({ 'if-match': `"${revision}"` })).status).toBe(200);
  expect((await live.reload({ 'if-match': '*' })).status).toBe(200);
});

test('decisions of an earlier revision can still be explained', async () => {
  const { decision_id: id, policy_revision: revision } = await ask();
  live.write('policy.yaml', policy.replace('quality: { default: 0.8', 'quality: { default: 0.7'));
  const { revision: next } = await live.changedFrom(revision);
  const decision = (await (await live.box.get(`/v1/decisions/${id}`)).json()) as { policy_revision: string };
  expect(decision.policy_revision).toBe(revision);
  live.write('policy.yaml', policy);
  await live.changedFrom(next);
});

test('a reload logs which providers serve, with how many models', async () => {
  const { revision } = await live.status();
  live.write('spare.yaml', spare.replace(', serve: when_alone', ''));
  const { revision: next } = await live.changedFrom(revision);
  const line = await waitFor(() =>
    live.box.lines.find((text) => text.includes('"policy reloaded"') && text.includes(next)),
  );
  expect(JSON.parse(line)).toMatchObject({ providers: 'first (1 model), spare (1 model)' });
  rmSync(live.file('spare.yaml'));
  await live.changedFrom(next);
});

test('if a provider serves only when no other provider can, the error about its model says so', async () => {
  const { revision } = await live.status();
  live.write('spare.yaml', spare);
  const { revision: next } = await live.changedFrom(revision);
  const error = await expectError(
    await live.box.post('/v1/chat/completions', { model: 'two', messages: hello }),
    'model_not_found',
    'model',
  );
  expect(error.message).toEndWith(': left out with its provider spare, which serves only while no other provider can.');
  rmSync(live.file('spare.yaml'));
  await live.changedFrom(next);
});

test('with --metrics off there is no /metrics', async () => {
  const box = await startSignalbox({ args: ['--metrics', 'off'] });
  await expectError(await fetch(`${box.url}/metrics`), 'not_found');
  await box.stop();
});

describe('signalbox policy check', () => {
  const check = (...args: string[]) => runHere(['policy', 'check', ...args, '--data', live.box.data]);
  const wrong = () => newFolder({ 'policy.yaml': policy.replace('context_window', 'contxt_window') });

  test('`policy check` exits with 0 for a valid policy, whatever variables are set', async () => {
    const folder = newFolder({ 'policy.yaml': policy });
    for (const env of [{}, UPSTREAM_ENV]) {
      const { code, out, err } = await runHere(['policy', 'check', folder], env);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain('1 file, 1 model');
      expect(out).not.toContain('\u001b');
      const left = 'cannot serve here: every provider, so `serve` would not start: TEST_UPSTREAM_KEY is not set';
      expect(out.includes(left)).toBe(env !== UPSTREAM_ENV);
      expect(out.includes('TEST_UPSTREAM_KEY')).toBe(env !== UPSTREAM_ENV);
    }
  });

  test('`policy check` counts the models that serve only if no other can', async () => {
    const folder = newFolder({ 'policy.yaml': policy, 'spare.yaml': spare });
    expect((await check(folder)).out).toContain('2 files, 2 models');
    expect(JSON.parse((await check(folder, '--json')).out)).toMatchObject({ models: 2 });
  });

  test('`policy check` names files that look like a part of the policy but are not', async () => {
    const folder = newFolder({ 'policy.yaml': policy, 'rules.YAML': 'constraints: []', 'notes.txt': '' });
    mkdirSync(join(folder, 'more'));
    writeFileSync(join(folder, 'more/rules.yaml'), 'constraints: []');
    const { code, out } = await check(folder);
    expect(code).toBe(0);
    expect(out).toMatch(/^Not read: more\/rules\.yaml \(.*\), rules\.YAML \(.*in lower case\)$/m);
    expect(out).not.toContain('notes.txt');
    const strict = await check(folder, '--strict', '--json');
    expect(strict.code).toBe(2);
    expect(JSON.parse(strict.out).not_read).toHaveLength(2);
  });

  test('`policy check` checks the shipped policy without an argument', async () => {
    expect((await check()).code).toBe(0);
  });

  test('`policy check` summarizes figures and providers that are not set up; --all, --strict and --json list each one', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const price = 'price: { input: 1, output: 2 }';
    const model = (name: string) =>
      `  ${name}: { provider: ${name}, ${price}, context_window: 8000, max_output: 800, quality: { default: 0.5, basis: guessed } }`;
    const provider = (name: string) =>
      `  ${name}: { adapter: openai, base_url: "https://${name}.example/v1", api_key_env: KEY_${name.toUpperCase()} }`;
    const many = ['providers:', ...names.map(provider), 'models:', ...names.map(model), ''].join('\n');
    const folder = newFolder({ 'policy.yaml': policy, 'many.yaml': many });
    const checked = (...flags: string[]) => runHere(['policy', 'check', folder, ...flags], UPSTREAM_ENV);
    const [plain, ...full] = await Promise.all([checked(), checked('--all'), checked('--strict')]);
    const unverified = (out: string) => out.split('\n').filter((line) => line.includes('unverified-figure'));
    expect(unverified(plain.out)).toEqual([]);
    expect(plain.out).toMatch(/5 figures without a day or a source, 5 providers cannot serve here: --all\n/);
    for (const { out } of full) {
      expect(unverified(out)).toHaveLength(names.length);
      expect(out).toContain('e (KEY_E is not set)');
    }
    const told = JSON.parse((await checked('--json')).out);
    expect(told.diagnostics.filter(({ code }: { code: string }) => code === 'unverified-figure')).toHaveLength(5);
    expect(told.left_out_here).toContain('e (KEY_E is not set)');
  });

  test('`policy check` exits with 2 and shows every location for an invalid policy', async () => {
    const folder = wrong();
    const { code, out } = await check(folder);
    expect(code).toBe(2);
    expect(out).toMatch(/policy\.yaml:\d+:\d+ {2}unknown-key/);
    expect(out).toContain('did you mean');
    const json = await check(folder, '--json');
    expect(json.code).toBe(2);
    const told = JSON.parse(json.out) as { errors: number; diagnostics: { code: string; line: number }[] };
    expect(told.errors).toBe(told.diagnostics.length);
    expect(told.diagnostics.map((found) => found.code)).toContain('unknown-key');
  });

  test('next to a failing case, `policy check` shows the warnings; next to other errors, only a warning that explains them', async () => {
    const rule = `constraints:\n  - { name: bob, when: 'user.id == "bob"', max_cost_credits: 5 }\n`;
    const cases = 'cases:\n  - { name: weighs, given: {}, expect: { reason: "auto:never" } }\n';
    const open = policy.replace('passthrough: [verbosity]', 'passthrough: ["*"]');
    const folder = newFolder({ 'policy.yaml': `${open}${rule}${cases}`, 'spare.yaml': spare });
    const { code, out } = await runHere(['policy', 'check', folder], UPSTREAM_ENV);
    expect(code).toBe(2);
    expect(out).toContain('warning misspelt-value');
    expect(out).toContain('case-failed');
    expect(out).not.toContain('unverified-figure');
    expect(out).toContain('warning passthrough-all');
    expect(out).toContain('1 error, 2 warnings.');
    writeFileSync(join(folder, 'wrong.yaml'), 'constrains: []\n');
    const { out: other } = await runHere(['policy', 'check', folder], UPSTREAM_ENV);
    expect(other).toContain('warning misspelt-value');
    expect(other).not.toContain('passthrough-all');
    expect(other).toContain('1 error, 2 warnings (1 not shown)');
  });

  test('`policy check` exits with 0 for warnings, and with 2 if they count', async () => {
    const folder = newFolder({ 'policy.yaml': policy.replace('passthrough: [verbosity]', 'passthrough: ["*"]') });
    expect((await check(folder)).code).toBe(0);
    expect((await check(folder, '--strict')).code).toBe(2);
  });

  test('`policy check` exits with 1 if there is nothing to check', async () => {
    const wrong = [['/no/such/folder'], [newFolder({})], ['a', 'b'], ['--colour']].map((args) => ['check', ...args]);
    for (const args of [...wrong, ['chek']]) {
      const { err, code } = await runHere(['policy', ...args]);
      expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
      expect(code).toBe(1);
    }
  });

  test('`policy check` names files that cannot be read as text', async () => {
    const folder = newFolder({ 'policy.yaml': policy });
    writeFileSync(join(folder, 'latin.yaml'), Buffer.from('version: 1\n# caf\xe9\n', 'latin1'));
    writeFileSync(join(folder, 'large.yaml'), '#'.repeat(1_048_577));
    symlinkSync('loop.yaml', join(folder, 'loop.yaml'));
    symlinkSync('gone', join(folder, 'nowhere.yaml'));
    mkdirSync(join(folder, 'folder.yaml'));
    const { code, out } = await check(folder, '--json');
    const told = JSON.parse(out) as { diagnostics: { file: string; code: string }[] };
    expect(code).toBe(2);
    const byFile = Object.fromEntries(told.diagnostics.map(({ file, code: kind }) => [file.split('/').at(-1), kind]));
    expect(byFile).toMatchObject({
      'latin.yaml': 'not-utf-8',
      'large.yaml': 'file-too-large',
      'loop.yaml': 'symlink-loop',
      'nowhere.yaml': 'unreadable-file',
      'folder.yaml': 'unreadable-file',
    });
  });
});
