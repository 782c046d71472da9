import { describe, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testPolicy } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 }, quality: 0.9 } },
    'gateway: { failed_auth_per_minute: 1000000 }\n',
  ),
}));

const folder = temporaryFolder();
/** A key like those of LiteLLM. */
const foreignKey = () => `sk-${randomBytes(24).toString('hex')}`;
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex');
let files = 0;
function fileOf(text: string): string {
  const path = join(folder, `keys-${files++}`);
  writeFileSync(path, text);
  return path;
}

interface Imported {
  readonly applied: boolean;
  readonly create: number;
  readonly change: number;
  readonly same: number;
  readonly refuse: number;
  readonly notes: readonly string[];
  readonly keys: readonly {
    readonly at: string;
    readonly action: string;
    readonly id: string | null;
    readonly changes: readonly string[];
    readonly left_out: readonly string[];
    readonly reason: string | null;
  }[];
}

async function imported(text: string, apply = true, on: Signalbox = box): Promise<Imported> {
  const answer = await on.post('/admin/keys/import', { file: text, apply });
  return (await answer.json()) as Imported;
}
const counts = ({ create, change, same, refuse }: Imported) => [create, change, same, refuse];
const litellm = (...keys: object[]) => JSON.stringify({ keys, total_count: keys.length });

const HELLO = [{ role: 'user', content: 'Say hello.' }];
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] };
const GEMINI = '/v1beta/models/best:generateContent';
/** A request in each dialect, with the ways in which its clients send a key. */
const REQUESTS: readonly (readonly [string, string, object, readonly string[]])[] = [
  ['Chat', '/v1/chat/completions', { model: 'best', messages: HELLO }, ['authorization']],
  ['Responses', '/v1/responses', { model: 'best', input: 'Say hello.' }, ['authorization', 'api-key']],
  ['Messages', '/v1/messages', { model: 'best', max_tokens: 20, messages: HELLO }, ['authorization', 'x-api-key']],
  ['Gemini', GEMINI, CONTENTS, ['x-goog-api-key', 'query']],
];

function send(path: string, body: object, key: string, header: string): Promise<Response> {
  const where = header === 'query' ? `${path}?key=${key}` : path;
  const own = header === 'query' ? {} : { [header]: header === 'authorization' ? `Bearer ${key}` : key };
  const headers = { 'content-type': 'application/json', ...own };
  return fetch(`${box.url}${where}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('an imported key', () => {
  test.each(REQUESTS)(
    'an imported key answers in the dialect %s, in each of its headers',
    async (_, path, body, ways) => {
      const key = foreignKey();
      for (const way of ways) expect((await send(path, body, key, way)).status).toBe(401);
      expect(counts(await imported(litellm({ token: sha256(key), key_alias: 'app' })))).toEqual([1, 0, 0, 0]);
      for (const way of ways) expect((await send(path, body, key, way)).status, way).toBe(200);
      expect((await send(path, body, `${key}x`, ways[0]!)).status).toBe(401);
    },
  );

  test('a preview changes nothing, and says the same as the import', async () => {
    const key = foreignKey();
    const text = `key,name,models\n${key},app,best\n`;
    const preview = await imported(text, false);
    expect([counts(preview), preview.applied]).toEqual([[1, 0, 0, 0], false]);
    expect(counts(await imported(text, false))).toEqual([1, 0, 0, 0]);
    expect(counts(await imported(text))).toEqual([1, 0, 0, 0]);
    expect(counts(await imported(text))).toEqual([0, 0, 1, 0]);
  });
});

test('the text of an imported key is masked in the log, records and errors, and no name may contain it', async () => {
  const key = `acme/${randomBytes(24).toString('hex')}`;
  await imported(`key,name\n${key},app\n`);
  expect((await send('/v1/chat/completions', { model: key, messages: HELLO }, key, 'authorization')).status).toBe(404);
  const made = await box.post('/admin/keys', { name: `made for ${key}` });
  expect([made.status, await made.text()]).toEqual([400, expect.stringContaining('must not contain an API key')]);
  expect(box.lines.length).toBeGreaterThan(0);
  expect(box.lines.filter((line) => line.includes(key))).toEqual([]);
  const { out } = await box.run('decisions', 'list', '--json');
  expect(out).not.toContain(key);
});

test('a repeated request of an imported key with an Idempotency-Key gets the first answer, and another key does not', async () => {
  const [key, other] = [foreignKey(), foreignKey()];
  await imported(`key\n${key}\n${other}\n`);
  const ask = async (by: string) => {
    const headers = { authorization: `Bearer ${by}`, 'idempotency-key': 'one', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'best', messages: HELLO });
    const response = await fetch(`${box.url}/v1/chat/completions`, { method: 'POST', headers, body });
    return [response.status, response.headers.get('x-signalbox-replayed')];
  };
  expect([await ask(key), await ask(key), await ask(other)]).toEqual([
    [200, null],
    [200, 'true'],
    [200, null],
  ]);
});

describe('the keys of LiteLLM', () => {
  test('the terms of a key come along, and a restriction that Signalbox lacks keeps the key out', async () => {
    const team = (await (await box.post('/admin/teams', { name: 'search' })).json()) as { id: string };
    const [key, other, third, fourth] = [foreignKey(), foreignKey(), foreignKey(), foreignKey()];
    const row = {
      token: sha256(key),
      key_alias: 'app',
      models: ['best'],
      team_id: 'search',
      user_id: 'default_user_id',
      rpm_limit: 60,
      tpm_limit: '1000',
      max_parallel_requests: 4,
      expires: '2099-01-01T00:00:00+00:00',
      metadata: { project: 'billing', nested: { a: 1 }, tags: ['a', 'b'] },
      aliases: { fast: 'best' },
    };
    const answer = await imported(
      litellm(
        row,
        { token: sha256(other), key_alias: 'ui', team_id: 'litellm-dashboard' },
        { token: sha256(third), model_max_budget: { best: { max_budget: 5 } } },
        { token: sha256(fourth), team_id: 'unknown' },
      ),
    );
    expect(counts(answer)).toEqual([1, 0, 0, 3]);
    const [first, ...refused] = answer.keys;
    expect(first!.left_out.map((text) => text.split(':', 1)[0])).toEqual(['`aliases`', '`metadata.nested`']);
    expect(refused.map(({ reason }) => /dashboard|model_max_budget|teams create/.exec(reason!)?.[0])).toEqual([
      ...['dashboard', 'model_max_budget', 'teams create'],
    ]);
    const shown = await (await box.get(`/admin/keys/${first!.id}`)).json();
    expect(shown).toMatchObject({
      ...{ name: 'app', scopes: ['chat', 'embed', 'route'], models: ['best'], team: team.id, user: null },
      limits: { requests_per_minute: 60, tokens_per_minute: 1000, concurrent_streams: 4 },
      ...{ expires_at: '2099-01-01T00:00:00.000Z', labels: { project: 'billing', tags: 'a,b' } },
    });
  });

  test('an export of the table as CSV says the same as the API', async () => {
    const key = foreignKey();
    const head = 'token,key_alias,models,metadata,blocked,rpm_limit,expires';
    await imported(`${head}\n${sha256(key)},app,"{best,""two words""}","{""a"": ""b""}",f,60,2099-01-01 00:00:00\n`);
    const again = { token: sha256(key), key_alias: 'app', models: ['best', 'two words'], metadata: { a: 'b' } };
    const same = { ...again, blocked: null, rpm_limit: 60, expires: '2099-01-01T00:00:00Z' };
    expect(counts(await imported(litellm(same)))).toEqual([0, 0, 1, 0]);
    const changed = await imported(litellm({ ...same, blocked: true, rpm_limit: 30 }));
    expect([counts(changed), changed.keys[0]!.changes.length]).toEqual([[0, 1, 0, 0], 2]);
    expect((await send('/v1/chat/completions', { model: 'best', messages: HELLO }, key, 'authorization')).status).toBe(
      403,
    );
  });

  test('a file with a part of the pages says so, and several pages are read from lines of their own', async () => {
    const page = (key: string) => JSON.stringify({ keys: [{ token: sha256(key) }], total_count: 2, total_pages: 2 });
    expect((await imported(page(foreignKey()), false)).notes.length).toBe(1);
    const whole = await imported(`${page(foreignKey())}\n${page(foreignKey())}\n`, false);
    expect([counts(whole), whole.notes]).toEqual([[2, 0, 0, 0], []]);
  });
});

test('the answer warns about models that the policy does not have', async () => {
  const { notes } = await imported(`key,models\n${foreignKey()},best;bst\n`, false);
  expect(notes).toEqual([expect.stringContaining('`bst`')]);
});

test('the command imports at the server and without one, shows all models, and ends with 2 if a key cannot come', async () => {
  const data = join(folder, 'data');
  const server = await startSignalbox({ data });
  const [first, second] = [foreignKey(), foreignKey()];
  const file = fileOf(`sha256,name,models\n${sha256(first)},one,*\n`);
  expect(await server.run('keys', 'import', file)).toMatchObject({
    code: 0,
    out: expect.stringContaining('all models'),
  });
  expect((await server.run('keys', 'import', file, '--apply')).out).toContain('1 key created');
  expect((await server.get('/v1/models', withKey(first))).status).toBe(200);
  const base64 = Buffer.from(sha256(second), 'hex').toString('base64');
  const more = fileOf(`sha256,name\n${sha256(first)},one\n${base64},two\nnonsense,three\n`);
  const offline = await server.run('keys', 'import', more, '--apply', '--offline');
  expect(offline).toMatchObject({ code: 2, out: expect.stringContaining('line 4') });
  await server.stop();
  const again = await startSignalbox({ data });
  for (const key of [first, second]) expect((await again.get('/v1/models', withKey(key))).status).toBe(200);
  await again.stop();
});

test('a key that can be guessed, a key of Signalbox and a row without a key are refused', async () => {
  const rows = ['sk-1234,a', `${box.key},b`, ',c', `${'x'.repeat(300)},d`];
  const { keys } = await imported(`key,name\n${rows.join('\n')}\n`);
  expect(keys.map(({ action, at }) => [action, at])).toEqual([2, 3, 4, 5].map((line) => ['refuse', `line ${line}`]));
});

test.each<[string, string]>([
  ['{"keys": [', 'Line 1, column 11'],
  ['[{"token": 1},\n  {"a" 2}]', 'Line 2, column 8'],
  ['key,nme\n', 'Line 1, column 2'],
  ['name\nx\n', 'Line 1, column 1'],
  ['key,name\nx,"y\n', 'Line 2, column 2'],
  ['key,name\nx\n', 'Line 2, column 2'],
  ['', 'Line 1, column 1'],
])('the file %j is refused with the place of its mistake', async (text, place) => {
  const response = await box.post('/admin/keys/import', { file: text });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(place)]);
});
