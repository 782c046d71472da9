import { describe, expect, test } from 'bun:test';
import { OpenAI } from 'openai';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A change applies within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } }, plain: { endpoints: ['first'] } },
    'gateway: { failed_auth_per_minute: 1000000 }\n',
  ),
}));

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly labels: object;
  readonly models: readonly string[] | null;
  readonly budgets: readonly { readonly spent_credits: number }[];
  readonly expires_at: string | null;
}

const create = async (body: object = {}): Promise<KeyAnswer> =>
  (await (await box.post('/admin/keys', body)).json()) as KeyAnswer;
const shown = async (id: string): Promise<KeyAnswer> =>
  (await (await box.get(`/admin/keys/${id}`)).json()) as KeyAnswer;
const patch = (id: string, body: unknown, headers: Record<string, string> = {}) => {
  const init = withKey(box.key);
  const own = { ...init.headers, 'content-type': 'application/json', ...headers };
  return fetch(`${box.url}/admin/keys/${id}`, { method: 'PATCH', headers: own, body: JSON.stringify(body) });
};
/** Changes a key and returns it. */
async function changed(id: string, body: object, headers: Record<string, string> = {}): Promise<KeyAnswer> {
  const response = await patch(id, body, headers);
  expect(response.status).toBe(200);
  return (await response.json()) as KeyAnswer;
}
const chat = (key: string, model = 'best') =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi.' }] }, withKey(key));
const status = async (key: string) => (await box.get('/v1/models', withKey(key))).status;

interface TrailEntry {
  readonly action: string;
  readonly actor: { readonly kind: string; readonly name: string };
  readonly details: { readonly before?: object; readonly after?: object };
}
const trailOf = async (id: string): Promise<readonly TrailEntry[]> => {
  const { data } = (await (await box.get(`/admin/trail?key=${id}`)).json()) as { data: readonly TrailEntry[] };
  return data;
};

describe('PATCH /admin/keys/{id}', () => {
  test('a PATCH changes the fields that it names, keeps the rest, and the audit trail has the author and both versions', async () => {
    const limits = { requests_per_minute: 60, tokens_per_minute: null, concurrent_streams: 4 };
    const terms = { name: 'app', labels: { team: 'a', tier: 'gold' }, models: ['best'], limits };
    const { id, key } = await create({ ...terms, budgets: [{ limit_credits: 5, window: 'day' }] });
    expect((await chat(key, 'plain')).status).toBe(403);
    const after = await changed(id, {
      name: 'billing',
      labels: { tier: null, cost: '7' },
      models: null,
      limits: { requests_per_minute: 90 },
    });
    expect(after).toMatchObject({
      name: 'billing',
      labels: { team: 'a', cost: '7' },
      models: null,
      scopes: ['chat', 'route'],
    });
    expect(after).toMatchObject({ limits: { ...limits, requests_per_minute: 90 }, budgets: [{ limit_credits: 5 }] });
    expect((await chat(key, 'plain')).status).toBe(200);
    const [entry] = await trailOf(id);
    expect(entry).toMatchObject({ action: 'change', actor: { kind: 'key', name: 'test00000001' } });
    expect(entry?.details).toEqual({
      before: { name: 'app', labels: { team: 'a', tier: 'gold' }, models: ['best'], limits },
      after: {
        name: 'billing',
        labels: { team: 'a', cost: '7' },
        models: null,
        limits: { ...limits, requests_per_minute: 90 },
      },
    });
  });

  test('null in a PATCH removes a term at once', async () => {
    const { id, key } = await create({
      ...{ name: 'trial', labels: { team: 'a' }, expires_in_seconds: 3_600, limits: { requests_per_minute: 1 } },
      ...{ budgets: [{ limit_credits: 0, window: 'day' }], wallets: [`0x${'ab'.repeat(20)}`] },
    });
    expect((await chat(key)).status).toBe(402);
    const bare = { labels: null, expires_at: null, limits: null, budgets: null, wallets: null, name: null };
    expect(await changed(id, bare)).toMatchObject({
      ...{ name: '', labels: {}, expires_at: null, budgets: [], wallets: null },
      limits: { requests_per_minute: null, tokens_per_minute: null, concurrent_streams: null },
    });
    expect([(await chat(key)).status, (await chat(key)).status]).toEqual([200, 200]);
  });

  test('narrower scopes, models, limits and expiry apply at once', async () => {
    const { id, key } = await create();
    await changed(id, { scopes: ['route'] });
    expect((await chat(key)).status).toBe(403);
    await changed(id, { scopes: ['chat'], models: ['plain'] });
    expect([(await chat(key)).status, (await chat(key, 'plain')).status]).toEqual([403, 200]);
    await changed(id, { limits: { requests_per_minute: 1 } });
    await chat(key, 'plain');
    expect((await chat(key, 'plain')).status).toBe(429);
    const ending = new Date(Date.now() + 700).toISOString();
    expect((await changed(id, { expires_at: ending })).expires_at).toBe(ending);
    await waitFor(async () => (await status(key)) === 401, WITHIN);
    expect((await shown(id)).state).toBe('expired');
    // An expiry is a term like the others.
    expect((await changed(id, { expires_in_seconds: 60, limits: null })).state).toBe('valid');
    expect(await status(key)).toBe(200);
  });

  test('a changed budget keeps its spending: a lower limit refuses, and a higher limit allows more', async () => {
    const { id, key } = await create({ budgets: [{ limit_credits: 50, window: 'month' }] });
    const paid = (await answerOf(await chat(key))).platform.credits_consumed ?? 0;
    expect(paid).toBeGreaterThan(0);
    await changed(id, { budgets: [{ limit_credits: paid / 2, window: 'month' }] });
    expect((await shown(id)).budgets).toMatchObject([{ limit_credits: paid / 2, spent_credits: paid }]);
    expect((await chat(key)).status).toBe(402);
    await changed(id, { budgets: [{ limit_credits: 50, window: 'month' }] });
    const again = (await answerOf(await chat(key))).platform.credits_consumed ?? 0;
    expect((await shown(id)).budgets).toMatchObject([{ limit_credits: 50, spent_credits: paid + again }]);
  });

  test('spending while a budget was removed counts once the budget is back in the same window', async () => {
    const budget = (limit: number, more: object = {}) => {
      return { budgets: [{ limit_credits: Number(limit.toFixed(6)), window: 'month', ...more }] };
    };
    // The budget of another key stays in use.
    await create(budget(50));
    const { id, key } = await create(budget(50));
    const pay = async () => (await answerOf(await chat(key))).platform.credits_consumed ?? 0;
    const first = await pay();
    await changed(id, { budgets: null });
    const spent = first + (await pay());
    await changed(id, budget(spent + 0.000001));
    expect((await shown(id)).budgets[0]?.spent_credits).toBeCloseTo(spent, 6);
    expect((await chat(key)).status).toBe(402);
    // Another action on exhaustion makes it another fund, which has the same amount.
    await changed(id, budget(spent + 0.000001, { on_exhausted: 'reject' }));
    expect((await chat(key)).status).toBe(402);
    await changed(id, budget(50));
    expect(await pay()).toBeGreaterThan(0);
  });

  test('the answer names its version, and a PATCH with If-Match changes no other version', async () => {
    const made = await box.post('/admin/keys', { name: 'one' });
    const { id } = (await made.json()) as KeyAnswer;
    const first = (await box.get(`/admin/keys/${id}`)).headers.get('etag')!;
    expect(first).toMatch(/^"[0-9a-f]{16}"$/);
    expect(made.headers.get('etag')).toBe(first);
    const second = (await patch(id, { name: 'two' }, { 'if-match': first })).headers.get('etag')!;
    expect(second).not.toBe(first);
    const refused = await patch(id, { name: 'three' }, { 'if-match': first });
    expect(refused.headers.get('etag')).toBe(second);
    await expectError(refused, 'precondition_failed');
    const weak = await patch(id, { name: 'three' }, { 'if-match': `W/${second}` });
    await expectError(weak, 'precondition_failed');
    expect((await shown(id)).name).toBe('two');
    await changed(id, { name: 'three' }, { 'if-match': `"other", ${second}` });
    await changed(id, { name: 'four' }, { 'if-match': '*' });
    // Using a key is not a change, and an earlier name restores the earlier version.
    expect((await patch(id, { name: 'two' })).headers.get('etag')).toBe(second);
    expect(await trailOf(id)).toHaveLength(5);
  });

  test('without If-Match the last write wins, and the audit trail has both', async () => {
    const { id } = await create({ name: 'one' });
    const two = [changed(id, { name: 'two' }), changed(id, { labels: { a: 'b' } }), changed(id, { name: 'three' })];
    await Promise.all(two);
    const { name, labels } = await shown(id);
    expect(labels).toEqual({ a: 'b' });
    const names = (await trailOf(id)).toReversed().flatMap(({ details: { before, after } }) => [before, after]);
    const told = names.filter((side) => side !== undefined && 'name' in side);
    expect(told).toEqual([{ name: 'one' }, expect.anything(), told[1], { name }]);
  });

  test('a PATCH that changes nothing adds no entry to the audit trail', async () => {
    const { id } = await create({ name: 'same', scopes: ['route', 'chat'] });
    await changed(id, {});
    await changed(id, { name: 'same', scopes: ['chat', 'route', 'chat'], labels: { none: null }, models: null });
    expect(await trailOf(id)).toHaveLength(1);
  });

  const cases: readonly (readonly [body: unknown, code: string, param: string | null])[] = [
    [[], 'invalid_type', null],
    [{ state: 'valid' }, 'unknown_field', 'state'],
    [{ name: 'two\nlines' }, 'invalid_value', 'name'],
    [{ scopes: null }, 'invalid_type', 'scopes'],
    [{ scopes: ['report', 'chat'] }, 'invalid_value', 'scopes'],
    [{ expires_at: 'tomorrow' }, 'invalid_value', 'expires_at'],
    [{ expires_at: '2030-02-18T09:30:00' }, 'invalid_value', 'expires_at'],
    [{ expires_at: '2020-02-18T09:30:00Z' }, 'invalid_value', 'expires_at'],
    [{ expires_in_seconds: 5 }, 'out_of_range', 'expires_in_seconds'],
    [{ expires_at: null, expires_in_seconds: 60 }, 'invalid_value', 'expires_in_seconds'],
    [{ wallets: ['0xabc'] }, 'invalid_value', 'wallets[0]'],
  ];
  for (const [body, code, param] of cases) {
    test(`PATCH refuses ${JSON.stringify(body)}`, async () => {
      const before = await (await box.get('/admin/trail')).text();
      const { error } = (await (await patch('test00000001', body)).json()) as { error: object };
      expect(error).toMatchObject({ code, param });
      expect(await (await box.get('/admin/trail')).text()).toBe(before);
    });
  }

  test('PATCH refuses unknown and revoked keys, and a body that is not JSON', async () => {
    const { id } = await create();
    await box.post(`/admin/keys/${id}/revoke`, {});
    for (const one of [id, 'nobody']) {
      await expectError(await patch(one, { name: 'x' }), 'not_found');
      await expectError(await box.post(`/admin/keys/${one}/suspend`, {}), 'not_found');
    }
    await expectError(await patch(id, { name: 'x' }, { 'content-type': 'text/plain' }), 'unsupported_media_type');
  });
});

describe('a suspended key', () => {
  test('a suspended key gets a 403 that is shown only to its secret, keeps its terms, and works again once resumed', async () => {
    const { id, key } = await create({ name: 'paused', budgets: [{ limit_credits: 50, window: 'day' }] });
    await chat(key);
    const { spent_credits: spent } = (await shown(id)).budgets[0]!;
    const suspended = await box.post(`/admin/keys/${id}/suspend`, {});
    expect(await suspended.json()).toMatchObject({ state: 'suspended', suspended_at: expect.any(String) });
    await expectError(await chat(key), 'key_suspended');
    await expectError(await box.get('/v1/models', withKey(`${key.slice(0, -1)}!`)), 'invalid_api_key');
    const wrong = key.endsWith('A') ? 'B' : 'A';
    await expectError(await box.get('/v1/models', withKey(key.slice(0, -1) + wrong)), 'invalid_api_key');
    const client = new OpenAI({ apiKey: key, baseURL: `${box.url}/v1`, maxRetries: 0 });
    const error = await client.models.list().then(null, (cause: unknown) => cause);
    expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(error).toMatchObject({ status: 403, code: 'key_suspended', message: expect.stringContaining('suspended') });
    expect((await box.post(`/admin/keys/${id}/suspend`, {})).status).toBe(200);
    const { state } = (await (await box.post(`/admin/keys/${id}/resume`, {})).json()) as KeyAnswer;
    expect([state, await status(key)]).toEqual(['valid', 200]);
    expect((await shown(id)).budgets).toMatchObject([{ spent_credits: spent }]);
    expect((await trailOf(id)).map(({ action }) => action)).toEqual(['resume', 'suspend', 'create']);
  });

  test('a suspended key can get a new secret before it is resumed', async () => {
    const { id, key } = await create();
    await box.post(`/admin/keys/${id}/suspend`, {});
    const rotated = await box.post(`/admin/keys/${id}/rotate`, { overlap_seconds: 0 });
    const next = ((await rotated.json()) as KeyAnswer).key;
    await expectError(await box.get('/v1/models', withKey(next)), 'key_suspended');
    await expectError(await box.get('/v1/models', withKey(key)), 'invalid_api_key');
    await box.post(`/admin/keys/${id}/resume`, {});
    expect([await status(key), await status(next)]).toEqual([401, 200]);
  });
});

describe('by command, while the server runs,', () => {
  const run = async (...args: string[]) => {
    const { code, out, err } = await box.run('keys', ...args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };

  test('a change by command applies within a second, is shown, and has the command’s user in the audit trail', async () => {
    const made = ['--name', 'app', '--label', 'team=a', '--label', 'old=1', '--model', 'best', '--rpm', '90', '--json'];
    const { id, key } = JSON.parse(
      await run('create', ...made, '--budget', '50/month', '--budget', '9/day'),
    ) as KeyAnswer;
    expect((await chat(key, 'plain')).status).toBe(403);
    const flags = ['--name', 'billing', '--label', 'team=b', '--no-label', 'old', '--no-model', '--tpm', '100000'];
    const printed = await run('change', id, ...flags, '--budget', '80/month:reject', '--no-rpm');
    expect(printed).toMatch(/^name +billing$/m);
    expect(printed).toMatch(/^labels +team=b$/m);
    await waitFor(async () => (await chat(key, 'plain')).status === 200, WITHIN);
    expect(await shown(id)).toMatchObject({
      ...{ name: 'billing', labels: { team: 'b' }, models: null },
      limits: { requests_per_minute: null, tokens_per_minute: 100_000, concurrent_streams: null },
      budgets: [{ limit_credits: 80, window: 'month', on_exhausted: 'reject' }],
    });
    expect((await trailOf(id))[0]).toMatchObject({ action: 'change', actor: { kind: 'cli' } });
    const json = JSON.parse(await run('change', id, '--expires-in', '1d', '--json')) as KeyAnswer;
    expect(json.expires_at).toBe((await shown(id)).expires_at);
    expect(JSON.parse(await run('change', id, '--no-expires-in', '--json'))).toMatchObject({ expires_at: null });
  });
});

describe('the last admin key', () => {
  const ends: readonly (readonly [string, (id: string) => Promise<Response>])[] = [
    ['lose its scope', (id) => patch(id, { scopes: ['chat'] })],
    ['be suspended', (id) => box.post(`/admin/keys/${id}/suspend`, {})],
    ['be revoked', (id) => box.post(`/admin/keys/${id}/revoke`, {})],
    ['get an expiry', (id) => patch(id, { expires_in_seconds: 86_400 })],
  ];
  test.each(ends)('the last admin key cannot %s', async (_, end) => {
    const before = await shown('test00000001');
    await expectError(await end('test00000001'), 'conflict');
    expect(await shown('test00000001')).toMatchObject({ state: 'valid', scopes: before.scopes, expires_at: null });
    const other = await create({ scopes: ['admin'] });
    expect((await end(other.id)).status).toBe(200);
    await box.post(`/admin/keys/${other.id}/revoke`, {});
  });

  test('a command that would end the last admin key gets the same error', async () => {
    const { code, err } = await box.run('keys', 'revoke', 'test00000001');
    expect([code, err]).toEqual([1, expect.stringMatching(/^signalbox: No other key with the scope admin works.*\n$/)]);
  });

  test('an admin key is not the last one while another works for as long', async () => {
    const [one, two] = [
      await create({ scopes: ['admin'] }),
      await create({ scopes: ['admin'], expires_in_seconds: 60 }),
    ];
    expect((await box.post(`/admin/keys/${one.id}/suspend`, {})).status).toBe(200);
    // The key would expire before the key that still works.
    await expectError(await patch('test00000001', { expires_in_seconds: 3_600 }), 'conflict');
    for (const { id } of [one, two]) expect((await box.post(`/admin/keys/${id}/revoke`, {})).status).toBe(200);
  });
});
