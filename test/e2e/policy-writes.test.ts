import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Static } from '@sinclair/typebox';
import { PolicyFiles, PolicyRevision, PolicyRevisions, PolicyWrite } from '../../src/admin/policy-answers.ts';
import type { KeyTrail } from '../../src/admin/trail.ts';
import { SchemaCheck } from '../../src/core/schema/check.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import type { LivePolicy } from '../support/live-policy.ts';
import { testPolicy } from '../support/policies.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** The policy's files over HTTP: who may write what. A write is active and in the audit trail, or has no effect at all. */
const upstream = useUpstream();
const base = testPolicy({ first: upstream.url }, { one: { endpoints: ['first'] } });
const files = () => ({ 'policy.yaml': base, 'rules.yaml': '# rules\n' });
const shut = useLivePolicy(files);
const open = useLivePolicy(files, { args: ['--allow-policy-writes'] });

type Changes = Readonly<Record<string, string | null>>;

async function put(live: LivePolicy, changes: Changes, tag?: string, key = live.box.key): Promise<Response> {
  const revision = tag ?? (await live.status()).revision;
  return await fetch(`${live.box.url}/admin/policy/files`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(revision !== '' && { 'if-match': `"${revision}"` }),
    },
    body: JSON.stringify({ changes: Object.entries(changes).map(([name, text]) => ({ name, text })) }),
  });
}

const get = async (live: LivePolicy, path: string) => await live.box.get(`/admin/policy/${path}`);
const textOf = (live: LivePolicy, name: string) => readFileSync(live.file(name), 'utf8');

describe('an ordinary edit', () => {
  test('an edit of several files is active when the request returns, and in the audit trail with its difference', async () => {
    const { revision: before } = await shut.status();
    const answer = await put(shut, {
      'rules.yaml': 'strong_from: 0.05\n',
      'more.yaml': 'unstated_languages: exclude\n',
    });
    const body: unknown = await answer.json();
    expect([answer.status, new SchemaCheck(PolicyWrite).errorOf(body)?.path]).toEqual([200, undefined]);
    const { revision, previous, files } = body as Static<typeof PolicyWrite>;
    expect(previous).toBe(before);
    expect(files).toEqual([
      { name: 'more.yaml', change: 'added' },
      { name: 'rules.yaml', change: 'changed' },
    ]);
    expect((await shut.status()).revision).toBe(revision);
    expect(answer.headers.get('etag')).toBe(`"${revision}"`);
    expect(textOf(shut, 'more.yaml')).toBe('unstated_languages: exclude\n');
    expect(existsSync(shut.file('.signalbox-edit.json'))).toBe(false);
    const trail = await waitFor(async () => {
      const page = (await (await shut.box.get(`/admin/trail?subject=${revision}`)).json()) as Static<typeof KeyTrail>;
      return page.data.some(({ action }) => action === 'load') ? page : null;
    });
    const edit = trail.data.find(({ action }) => action === 'change');
    expect(edit).toMatchObject({ actor: { kind: 'key' }, subject: { kind: 'policy_files', id: revision } });
    expect(String(edit?.details.patch)).toContain('+strong_from: 0.05');
    expect(trail.data.find(({ action }) => action === 'load')?.actor.name).toBe(edit?.actor.name ?? '');
  });

  test('an edit removes a file, and the reverse patch restores it', async () => {
    const changes = [{ name: 'more.yaml', text: null }];
    const patch = await (await shut.box.post('/admin/policy/patch', { changes })).text();
    expect(patch).toContain('deleted file mode 100644');
    expect((await put(shut, { 'more.yaml': null })).status).toBe(200);
    expect(existsSync(shut.file('more.yaml'))).toBe(false);
  });

  test('an edit must name the revision that it began from', async () => {
    await expectError(await put(shut, { 'rules.yaml': 'strong_from: 0.06\n' }, ''), 'missing_field', 'If-Match');
    await expectError(
      await put(shut, { 'rules.yaml': 'strong_from: 0.06\n' }, '0123456789abcdef'),
      'precondition_failed',
    );
    expect(textOf(shut, 'rules.yaml')).toBe('strong_from: 0.05\n');
  });

  test('of two simultaneous edits of one revision, one is written', async () => {
    const { revision } = await shut.status();
    const key = await shut.box.makeKey('--scope', 'admin');
    const both = await Promise.all([
      put(shut, { 'rules.yaml': 'strong_from: 0.07\n' }, revision),
      put(shut, { 'rules.yaml': 'strong_from: 0.08\n' }, revision, key),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  test('an edit with a mistake or a failing test case is refused as a whole', async () => {
    const before = textOf(shut, 'rules.yaml');
    const wrong = { 'rules.yaml': 'strong_from: 0.09\n', 'more.yaml': 'nonsense: 1\n' };
    const error = await expectError(await put(shut, wrong), 'policy_invalid');
    expect(error.details).toMatchObject({ diagnostics: [{ file: 'more.yaml', line: 1 }] });
    const failing = `cases: [{ name: never, given: {}, expect: { rejected: { one: context } } }]\n`;
    await expectError(await put(shut, { 'more.yaml': failing }), 'policy_invalid');
    expect([textOf(shut, 'rules.yaml'), existsSync(shut.file('more.yaml'))]).toEqual([before, false]);
  });

  test('an edit is refused with advice if the files are mounted, were edited on disk, or contain a secret', async () => {
    const link = shut.file('linked.yaml');
    writeFileSync(shut.file('target.txt'), '# far\n');
    symlinkSync('target.txt', link);
    await shut.reload();
    const mounted = await expectError(await put(shut, { 'linked.yaml': '# near\n' }), 'conflict');
    expect(mounted.message).toContain('patch');
    unlinkSync(link);
    await shut.reload();
    writeFileSync(shut.file('rules.yaml'), 'language_wort: 1\n');
    await shut.reload();
    await expectError(await put(shut, { 'rules.yaml': 'strong_from: 0.09\n' }), 'conflict');
    writeFileSync(shut.file('rules.yaml'), `# sk-proj-${'a1B2'.repeat(12)}\nstrong_from: 0.05\n`);
    await shut.reload();
    const shown = await (await get(shut, 'files')).text();
    expect(shown).not.toContain('a1B2a1B2');
    writeFileSync(shut.file('rules.yaml'), 'strong_from: 0.05\n');
    await shut.reload();
  });

  test('an edit is refused if the folder cannot be written', async () => {
    // The user root can write anywhere.
    if (process.getuid?.() === 0) return;
    chmodSync(shut.folder, 0o555);
    await expectError(await put(shut, { 'rules.yaml': 'strong_from: 0.09\n' }), 'conflict');
    chmodSync(shut.folder, 0o755);
  });
});

describe('a guarded edit', () => {
  const DISGUISES: Readonly<Record<string, Changes>> = {
    'a new file': { 'evil.yaml': 'plugins: [./evil.ts]\n' },
    'flow and quotes': { 'evil.yaml': '{"plu\\u0067ins": ["./evil.ts"]}\n' },
    'an address in the same file': {
      'policy.yaml': base.replace(/base_url: [^,]+/, 'base_url: https://evil.example/v1'),
    },
    'a provider': {
      'evil.yaml': 'providers: { evil: { adapter: openai-compatible, base_url: https://evil.example/v1 } }\n',
    },
    'a provider instead of a removed file': {
      'policy.yaml': null,
      'evil.yaml': base.replace(/base_url: [^,]+/, 'base_url: https://evil.example/v1'),
    },
    'who signs in': { 'evil.yaml': 'public_url: https://evil.example\n' },
    'whose tokens count': {
      'evil.yaml':
        'tokens: [{ name: evil, issuer: https://evil.example, audience: a, when: claims.sub == "me", admin: claims.sub == "me" }]\n',
    },
    'who is told': { 'evil.yaml': 'alerts: { webhooks: { evil: { url_env: EVIL, format: slack } } }\n' },
    'whose word is an address': { 'evil.yaml': 'gateway: { trusted_proxies: [10.0.0.0/8] }\n' },
    'what is stored': { 'evil.yaml': 'records: { content: {} }\n' },
  };

  test.each(Object.keys(DISGUISES))('a guarded edit is not written without the flag: %s', async (name) => {
    const before = (await shut.status()).revision;
    const error = await expectError(await put(shut, DISGUISES[name]!), 'insufficient_permissions');
    expect(error.message).toContain('--allow-policy-writes');
    expect(error.message).toContain('/admin/policy/patch');
    expect((await shut.status()).revision).toBe(before);
    expect(existsSync(shut.file('evil.yaml'))).toBe(false);
  });

  test.each([
    ['anchors', 'x: &a [./evil.ts]\nplugins: *a\n'],
    ['merge keys', 'providers: { evil: { <<: { adapter: openai-compatible }, base_url: "https://evil.example" } }\n'],
    ['a second document', 'strong_from: 0.03\n---\nplugins: [./evil.ts]\n'],
    ['a section twice', 'plugins: []\nplugins: [./evil.ts]\n'],
  ])('a guarded edit is invalid or recognized as guarded: %s', async (_, text) => {
    for (const live of [shut, open]) {
      const before = (await live.status()).revision;
      const { status } = await put(live, { 'evil.yaml': text });
      expect([403, 422]).toContain(status);
      expect((await live.status()).revision).toBe(before);
    }
  });

  test('an owner with the flag can write a guarded edit', async () => {
    const answer = await put(open, { 'told.yaml': 'public_url: https://llm.example.com\n' });
    expect(answer.status).toBe(200);
    expect(((await answer.json()) as Static<typeof PolicyWrite>).guarded).toMatchObject([{ section: 'public_url' }]);
    const shown = (await (await get(open, 'files')).json()) as Static<typeof PolicyFiles>;
    expect(shown.writes).toEqual({ ordinary: true, guarded: true, refused: null });
  });
});

test('the API returns policy files on disk that are not active next to the active files', async () => {
  const before = textOf(open, 'rules.yaml');
  writeFileSync(open.file('rules.yaml'), 'nonsense: true\n');
  const shown: unknown = await (await get(open, 'files')).json();
  expect(new SchemaCheck(PolicyFiles).errorOf(shown)?.path).toBeUndefined();
  const { files: own, on_disk, disk_files } = shown as Static<typeof PolicyFiles>;
  const rules = (all: Static<typeof PolicyFiles>['files'] | null) =>
    all?.find(({ name }) => name === 'rules.yaml')?.text;
  expect([on_disk, rules(own), rules(disk_files)]).toEqual(['differs', before, 'nonsense: true\n']);
  writeFileSync(open.file('rules.yaml'), before);
});

test('the active files and earlier policies can be read', async () => {
  const shown: unknown = await (await get(open, 'files')).json();
  expect(new SchemaCheck(PolicyFiles).errorOf(shown)?.path).toBeUndefined();
  const { files: own, revision, on_disk, disk_files } = shown as Static<typeof PolicyFiles>;
  expect([on_disk, disk_files]).toEqual(['same', null]);
  expect(own.map(({ name }) => name)).toContain('policy.yaml');
  // The audit trail gets the entry of an activated policy shortly after the answer.
  const { data } = await waitFor(async () => {
    const listed: unknown = await (await get(open, 'revisions')).json();
    expect(new SchemaCheck(PolicyRevisions).errorOf(listed)?.path).toBeUndefined();
    const page = listed as Static<typeof PolicyRevisions>;
    return page.data[0]?.revision === revision ? page : null;
  });
  expect(data[0]).toMatchObject({ revision, until: null, is_stored: true });
  expect(data[1]?.until).toBe(data[0]?.from ?? '');
  const page = (await (await get(open, 'revisions?limit=1')).json()) as Static<typeof PolicyRevisions>;
  const next = (await (await get(open, `revisions?limit=1&after=${page.data[0]?.id}`)).json()) as Static<
    typeof PolicyRevisions
  >;
  expect([page.has_more, next.data[0]]).toEqual([true, data[1]]);
  const stored: unknown = await (await get(open, `revisions/${data[1]?.revision.slice(0, 8)}`)).json();
  expect(new SchemaCheck(PolicyRevision).errorOf(stored)?.path).toBeUndefined();
  expect(stored).toMatchObject({ is_in_force: false, revision: data[1]?.revision });
  const schema = (await (await get(open, 'schema')).json()) as { properties: object };
  expect(Object.keys(schema.properties)).toContain('models');
});
