import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Static, TSchema } from '@sinclair/typebox';
import { PolicyExplanation } from '../../src/admin/policy-explanation.ts';
import * as schemas from '../../src/admin/policy-tool-answers.ts';
import { SchemaCheck } from '../../src/core/schema/check.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { withKey } from '../support/signalbox.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** The policy tools over HTTP: the same answers as the commands, and no more rights. */
const upstream = useUpstream();
const CASES = `cases:
  - { name: greeting goes to one, given: { messages: [{ role: user, content: hi }] }, expect: { model: one } }
`;
const base = testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } });
const live = useLivePolicy(() => ({ 'policy.yaml': base, 'rules.yaml': CASES }));

const SECRET = 'sk-never-told-by-anything-0123456789';
const post = async (path: string, body: object, init: RequestInit = {}) =>
  await live.box.post(`/admin/policy/${path}`, body, init);
/** Returns an answer in the documented form. */
async function told<Schema extends TSchema>(schema: Schema, path: string, body: object): Promise<Static<Schema>> {
  const answer = await post(path, body);
  const value: unknown = await answer.json();
  expect([answer.status, path, new SchemaCheck(schema).errorOf(value)?.path ?? null]).toEqual([200, path, null]);
  return value as Static<Schema>;
}
const check = (body: object) => told(schemas.PolicyCheck, 'check', body);
const runCases = (body: object) => told(schemas.PolicyTest, 'test', body);
const diff = (body: object) => told(schemas.PolicyDifference, 'diff', body);
const explain = (body: object) => told(PolicyExplanation, 'explain', body);
const command = async (...args: string[]) =>
  JSON.parse((await runHere(['policy', ...args, '--json'], UPSTREAM_ENV)).out);
const files = (changed: Readonly<Record<string, string>> = {}) =>
  Object.entries({ 'policy.yaml': base, 'rules.yaml': CASES, ...changed }).map(([name, text]) => ({ name, text }));

describe('policy check by HTTP', () => {
  test('policy check over HTTP has the same findings as the command, with the line and the meaning of each', async () => {
    const text = base.replace('context_window', 'contxt_window');
    const own = await check({ files: files({ 'policy.yaml': text }) });
    writeFileSync(live.file('policy.yaml'), text);
    const byCommand = await command('check', live.folder);
    writeFileSync(live.file('policy.yaml'), base);
    expect(own.diagnostics).toEqual(byCommand.diagnostics);
    expect([own.errors, own.warnings]).toEqual([byCommand.errors, byCommand.warnings]);
    const unknown = own.diagnostics.find(({ code }) => code === 'unknown-key');
    expect(unknown).toMatchObject({ file: 'policy.yaml', help: 'A key does not exist in this section or map.' });
    expect(unknown?.end_column).toBe((unknown?.column ?? 0) + (unknown?.length ?? 0));
    expect(unknown?.frame).toContain('contxt_window');
    expect(unknown?.frame).toContain('^^^^');
    await live.reload();
  });

  test('policy check over HTTP accepts changes of the files on disk, and the files on disk themselves', async () => {
    expect(await check({})).toMatchObject({
      errors: 0,
      cases: 1,
      files: ['policy.yaml', 'rules.yaml'],
      guarded: [],
    });
    const removed = await check({ changes: [{ name: 'rules.yaml', text: null }] });
    expect(removed).toMatchObject({ errors: 0, cases: 0, files: ['policy.yaml'] });
  });

  test('policy check over HTTP runs no plugin that is not active, wherever it is named', async () => {
    const mark = join(live.folder, 'ran');
    writeFileSync(
      live.file('evil.ts'),
      `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(mark)}, '');\n`,
    );
    const change = [{ name: 'more.yaml', text: 'plugins: [./evil.ts]\n' }];
    const checked = await check({ changes: change });
    expect(checked.diagnostics).toContainEqual(
      expect.objectContaining({ code: 'plugin-not-loaded', file: 'more.yaml' }),
    );
    expect(checked.guarded).toEqual([expect.objectContaining({ section: 'plugins' })]);
    expect((await runCases({ changes: change })).errors).toBe(1);
    expect((await diff({ b: { changes: change } })).b).toMatchObject({ loaded: false });
    const request = { model: 'one', messages: [{ role: 'user', content: 'hi' }] };
    await expectError(await post('explain', { request, policy: { changes: change } }), 'policy_invalid');
    expect(await Bun.file(mark).exists()).toBe(false);
  });

  test('policy check over HTTP shows no values of variables, nor whether variables are set that the policy does not name', async () => {
    process.env.NOT_OF_THE_POLICY = SECRET;
    const provider = (extra: string) => `providers: { spy: { adapter: openai-compatible, ${extra} } }\n`;
    for (const extra of [
      'base_url_env: NOT_OF_THE_POLICY',
      'base_url: https://x.example, api_key_env: NOT_OF_THE_POLICY',
    ]) {
      const text = JSON.stringify(await check({ changes: [{ name: 'spy.yaml', text: provider(extra) }] }));
      expect(text).not.toContain(SECRET);
      expect(text).toContain('NOT_OF_THE_POLICY is not set');
    }
    delete process.env.NOT_OF_THE_POLICY;
  });

  test('policy check over HTTP is bounded: one at a time for each principal, and limits on the names and sizes of files', async () => {
    const many = await Promise.all([post('check', {}), post('check', {}), post('check', {})]);
    const states = many.map(({ status }) => status);
    expect(states).toContain(200);
    expect(states).toContain(429);
    for (const name of ['../up.yaml', '.hidden.yaml', 'a/b.yaml', 'some.txt', 'a\u0000.yaml']) {
      await expectError(await post('check', { changes: [{ name, text: '' }] }), 'invalid_value', 'changes');
    }
    const twice = [{ name: 'a.yaml', text: '' }];
    await expectError(await post('check', { changes: [...twice, ...twice] }), 'invalid_value', 'changes');
    await expectError(await post('check', { files: files(), changes: twice }), 'invalid_value', 'changes');
  });

  test('policy check over HTTP does not delay requests while it parses a text made to be slow', async () => {
    const deep = `${'a: {'.repeat(60_000)}`;
    const wide = `x: "${'\\u0061'.repeat(150_000)}"\ny: [${'{a: b}, '.repeat(100_000)}]\n`;
    for (const text of [deep, wide]) {
      const checking = post('check', { changes: [{ name: 'bomb.yaml', text }] });
      let slowest = 0;
      let isDone = false;
      void checking.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        const begun = performance.now();
        await live.box.get('/healthz');
        slowest = Math.max(slowest, performance.now() - begun);
        await Bun.sleep(5);
      }
      expect([200, 400, 422, 503]).toContain((await checking).status);
      // The limit only detects a hang; it is no performance goal.
      expect(slowest).toBeLessThan(2_000);
    }
  });
});

describe('policy test and diff by HTTP', () => {
  test('policy test over HTTP has the same results and coverage as the command', async () => {
    const own = await runCases({});
    const { counts, settings, cases, coverage } = await command('test', live.folder, '--coverage');
    expect(own).toMatchObject({ errors: 0, counts, settings });
    expect(own.cases[0]).toMatchObject({
      name: 'greeting goes to one',
      status: 'holds',
      choice: 'one',
      file: 'rules.yaml',
    });
    expect(own.cases.length).toBe(cases.length);
    expect(own.coverage?.percent).toBe(coverage.percent);
    const failing = CASES.replace('model: one', 'rejected: { one: context }');
    expect((await runCases({ files: files({ 'rules.yaml': failing }) })).counts).toMatchObject({ failed: 1 });
  });

  test('policy diff over HTTP compares two policies as the command does, with a patch of the texts', async () => {
    const text = base.replace('output: 4', 'output: 8');
    expect(text).not.toBe(base);
    const own = await diff({ b: { changes: [{ name: 'policy.yaml', text }] } });
    expect(own.a).toMatchObject({ kind: 'revision', loaded: true });
    expect(own.changes).toEqual([expect.objectContaining({ change: 'changed', section: 'models', name: 'one' })]);
    expect(own.patch).toContain('diff --git a/policy.yaml b/policy.yaml');
    const { revision } = await live.status();
    const same = await diff({ a: { revision: revision.slice(0, 8) }, b: {} });
    expect(same).toMatchObject({ changes: [], patch: '', totals: { cases: { different: 0 } } });
    await expectError(await post('diff', { a: { revision: '0123456789abcdef' } }), 'not_found');
  });
});

describe('policy explain by HTTP', () => {
  const request = { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] };

  test('an explanation over HTTP is the decision that the request then gets, in every dialect, and stores no record', async () => {
    const before = (await (await live.box.get('/admin/decisions')).json()) as { data: unknown[] };
    const own = await explain({ request });
    const answer = await answerOf(await live.box.post('/v1/chat/completions', request));
    expect(own).toMatchObject({ choice: answer.platform.routed_model, route_reason: answer.platform.route_reason });
    expect(own).toMatchObject({ readings: 'present', is_funded: false, pareto_front: ['one'] });
    expect(own.candidates?.[0]).toMatchObject({ rank: 1, endpoints: [{ provider: 'first', open: true }] });
    for (const other of [
      { model: 'auto', system: 'Be short.', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      { model: 'auto', input: 'hi' },
      { model: 'auto', task_type: 'coding', estimated_input_tokens: 90 },
    ]) {
      expect((await explain({ request: other })).choice).toBe('one');
    }
    const after = (await (await live.box.get('/admin/decisions')).json()) as { data: unknown[] };
    expect(after.data.length).toBe(before.data.length + 1);
  });

  test('an explanation over HTTP uses the models and the money of a key, and refuses as the request would be', async () => {
    const key = await live.box.makeKey('--budget', '0.001/month:reject');
    const id = key.slice('sb_live_'.length).split('_')[0]!;
    const own = await explain({ request, key: id });
    expect(own.is_funded).toBe(true);
    const refusal = await live.box.post('/v1/chat/completions', request, withKey(key));
    expect(refusal.status).toBe(402);
    const { error } = (await refusal.json()) as { error: { code: string } };
    expect(own.shortage ?? own.refusal?.code).toBe(error.code);
    expect((await explain({ request })).shortage).toBeNull();
    await expectError(await post('explain', { request, key: 'nobodysKey00' }), 'not_found', 'key');
  });

  test('an explanation over HTTP can use a policy that the request sends, with the current readings of endpoints', async () => {
    const strict = `constraints: [{ name: none-may, when: 'key.id == "explain"', require: 'model.id != "one"' }]\n`;
    const own = await explain({ request, policy: { changes: [{ name: 'strict.yaml', text: strict }] } });
    expect(own).toMatchObject({ choice: null, readings: 'present', refusal: { code: 'no_eligible_model' } });
    expect(own.candidates?.[0]?.rejections[0]).toMatchObject({
      rules: [{ name: 'none-may', file: 'strict.yaml', line: 1 }],
    });
    const { revision } = await live.status();
    expect(await explain({ request, policy: { revision } })).toMatchObject({
      choice: 'one',
      policy_revision: revision,
    });
  });

  test('explanations over HTTP get 429 beyond one at a time and ten a second', async () => {
    const asked = await Promise.all(Array.from({ length: 30 }, () => post('explain', { request })));
    expect(asked.map(({ status }) => status)).toContain(429);
    await waitFor(async () => (await post('explain', { request })).status === 200);
  });
});
