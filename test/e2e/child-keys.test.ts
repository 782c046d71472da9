import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import OpenAI from 'openai';
import { openKeys } from '../../src/access/keys.ts';
import { sql, write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A change that stops a key stops its child keys within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] }, plain: { endpoints: ['first'] }, gold: { endpoints: ['first'] } },
    `constraints:
  - { name: gold, when: 'key.labels.tier != "gold"', require: 'model.id != "gold"' }
  - { name: marked, when: 'key.labels["child.mark"] == ""', require: 'model.id != "plain"' }
rate_limits:
  - { name: each, each: key, match: 'key.labels.team == "slow"', requests_per_minute: 3 }
gateway: { failed_auth_per_minute: 1000000, retries_max: 0 }
`,
  ),
}));

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly scopes: readonly string[];
  readonly models: readonly string[] | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly expires_at: string;
  readonly error?: { readonly code: string; readonly message: string; readonly param: string | null };
}
const bodyOf = async (response: Response): Promise<KeyAnswer> => (await response.json()) as KeyAnswer;

const delegating = async (body: object = {}) =>
  bodyOf(await box.post('/admin/keys', { scopes: ['chat', 'delegate'], ...body }));
const child = async ({ key }: Pick<KeyAnswer, 'key'>, body: object = {}) =>
  bodyOf(await box.post('/v1/keys', body, withKey(key)));
const chat = async ({ key }: Pick<KeyAnswer, 'key'>, model = 'best') =>
  (await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi.' }] }, withKey(key)))
    .status;
const deed = async (id: string, what: string, body: object = {}) =>
  bodyOf(await box.post(`/admin/keys/${id}/${what}`, body));
const statuses = (keys: readonly Pick<KeyAnswer, 'key'>[]) => Promise.all(keys.map((key) => chat(key)));

test('an agent with OpenAI’s client creates a child key that works until the agent revokes it', async () => {
  const parent = await delegating({ labels: { team: 'a' }, expires_in_seconds: 7_200 });
  const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${box.url}/v1`, maxRetries: 0 });
  const agent = clientOf(parent.key);
  const labels = { 'child.task': 'crawl' };
  const made = await agent.post<KeyAnswer>('/keys', { body: { name: 'crawler', models: ['best'], labels } });
  expect(made).toMatchObject({ scopes: ['chat'], models: ['best'], labels: { team: 'a', ...labels }, state: 'valid' });
  expect(Date.parse(made.expires_at) - Date.now()).toBeLessThanOrEqual(7_200_000);
  const worker = clientOf(made.key);
  const ask = async (model: string) =>
    await worker.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi.' }] });
  expect((await ask('best')).choices[0]?.message.content).toBeTruthy();
  await expect(ask('plain')).rejects.toMatchObject({ status: 403 });
  const listed = await agent.get<{ data: KeyAnswer[] }>('/keys');
  expect(listed.data).toMatchObject([{ id: made.id, name: 'crawler', state: 'valid' }]);
  expect(JSON.stringify(listed)).not.toContain(made.key);
  expect(await agent.delete<KeyAnswer>(`/keys/${made.id}`)).toMatchObject({ id: made.id, state: 'revoked' });
  await expect(ask('best')).rejects.toMatchObject({ status: 401 });
  expect(await agent.delete<KeyAnswer>(`/keys/${made.id}`)).toMatchObject({ state: 'revoked' });
  expect((await agent.get<{ data: KeyAnswer[] }>('/keys')).data).toEqual([]);
});

describe('a key cannot give a child key more than it has', () => {
  test.each([
    [{ scopes: ['admin'] }, 'scopes[0]', /cannot have the scope `admin`/],
    [{ scopes: ['chat', 'report'] }, 'scopes', /no other scope/],
    [{ scopes: ['report'] }, 'scopes[0]', /cannot have/],
    [{ scopes: ['chat', 'route'] }, 'scopes[1]', /lacks the scope `route`/],
    [{ models: ['best', 'gold'] }, 'models[1]', /may not use the model gold/],
    [{ labels: { tier: 'gold' } }, 'labels', /begin with child/],
    [{ labels: { team: 'b' } }, 'labels', /begin with child/],
    [{ labels: { 'child.task': 'other' } }, 'labels.child.task', /has the label child.task with another value/],
    [{ wallets: ['0x7e5f4552091a69125d5dfcb7b8c2659029395bdf'] }, 'wallets[0]', /may not name the wallet/],
    [{ expires_in_seconds: null }, 'expires_in_seconds', /./],
    [{ expires_in_seconds: 31 * 86_400 }, 'expires_in_seconds', /./],
  ])('%p', async (body, param, message) => {
    const wallets = ['0x2b5ad5c4795c026514f8317c7a215e218dccd6cf'];
    const first = await delegating({ models: ['best', 'plain'], labels: { team: 'a' }, wallets });
    const parent = await child(first, { scopes: ['chat', 'delegate'], labels: { 'child.task': 'plan' } });
    const { error } = await child(parent, body);
    expect(error).toMatchObject({ param });
    expect(error?.message).toMatch(message);
  });

  test('even an admin key that may delegate cannot give more than it has, and a key without that scope creates none', async () => {
    const admin = await delegating({ scopes: ['chat', 'admin', 'delegate'] });
    expect((await child(admin, { scopes: ['chat', 'admin'] })).error?.param).toBe('scopes[1]');
    const made = await child(admin);
    expect(made.scopes).toEqual(['chat']);
    expect((await box.get('/admin/keys', withKey(made.key))).status).toBe(403);
    expect((await child(made)).error?.code).toBe('insufficient_permissions');
    expect((await box.get('/v1/keys', withKey(made.key))).status).toBe(403);
    expect((await box.post('/v1/keys', {})).status).toBe(403);
    expect((await box.post('/v1/keys', {}, withKey(''))).status).toBe(401);
  });

  test('a child key cannot escape a constraint of the policy through its own labels', async () => {
    const plain = await delegating();
    const marked = await child(plain, { labels: { 'child.mark': 'yes', 'child.tier': 'gold' } });
    expect([await chat(plain, 'plain'), await chat(marked, 'plain'), await chat(marked, 'gold')]).toEqual([
      422, 422, 422,
    ]);
    const gold = await child(await delegating({ labels: { tier: 'gold' } }));
    expect([await chat(gold, 'plain'), await chat(gold, 'gold')]).toEqual([422, 200]);
    const { error } = await delegating({ labels: { 'child.mark': 'yes' } });
    expect(error).toMatchObject({ code: 'invalid_value', param: 'labels' });
  });

  test('a key sees and revokes only its child keys, at any depth', async () => {
    const [parent, stranger] = [await delegating(), await delegating()];
    const middle = await child(parent, { scopes: ['chat', 'delegate'] });
    const last = await child(middle);
    const revoke = async (by: KeyAnswer, id: string) =>
      (await box.get(`/v1/keys/${id}`, { method: 'DELETE', ...withKey(by.key) })).status;
    expect([
      await revoke(stranger, middle.id),
      await revoke(middle, parent.id),
      await revoke(middle, middle.id),
    ]).toEqual([404, 404, 404]);
    expect([await chat(middle), await revoke(parent, last.id), await chat(last), await chat(middle)]).toEqual([
      200, 200, 401, 200,
    ]);
  });
});

describe('a key stops together with each of its parent keys', () => {
  const line = async () => {
    const first = await delegating();
    const second = await child(first, { scopes: ['chat', 'delegate'] });
    return [first, second, await child(second)] as const;
  };

  test('child keys stop when a parent key is revoked', async () => {
    const keys = await line();
    expect(await statuses(keys)).toEqual([200, 200, 200]);
    await deed(keys[1].id, 'revoke');
    expect(await statuses(keys)).toEqual([200, 401, 401]);
    const others = await line();
    await box.run('keys', 'revoke', others[0].id);
    await waitFor(async () => (await chat(others[2])) === 401, WITHIN);
  });

  test('child keys keep working after a rotation until the parent’s old secret ends', async () => {
    const [first, second, third] = await line();
    const next = await deed(first.id, 'rotate', { overlap_seconds: 3_600 });
    expect(await statuses([first, second, third, next])).toEqual([200, 200, 200, 200]);
    const fresh = await child(next);
    // This child key was created with the old secret, which still works.
    const late = await child(first);
    await deed(first.id, 'rotate', { overlap_seconds: 3_600 });
    expect(await statuses([second, third, late, fresh])).toEqual([401, 401, 401, 200]);
    await deed(first.id, 'rotate', { overlap_seconds: 1 });
    await waitFor(async () => (await chat(fresh)) === 401, WITHIN);
  });
});

describe('an operator’s change of a key', () => {
  const change = async ({ id }: Pick<KeyAnswer, 'id'>, body: object) =>
    bodyOf(await box.get(`/admin/keys/${id}`, { method: 'PATCH', body: JSON.stringify(body) }));
  const asked = (key: KeyAnswer) => Promise.all([chat(key, 'best'), chat(key, 'plain')]);

  test('a change of a key applies at once to its child keys, and can be undone for them', async () => {
    const parent = await delegating({ labels: { tier: 'gold' } });
    const [middle, narrow] = [
      await child(parent, { scopes: ['chat', 'delegate'] }),
      await child(parent, { models: ['plain'] }),
    ];
    const last = await child(middle, { labels: { 'child.mark': 'yes' } });
    await change(parent, { models: ['best'] });
    expect([await asked(last), await asked(narrow)]).toEqual([
      [200, 403],
      [403, 403],
    ]);
    await change(parent, { models: null, labels: { 'child.mark': null, tier: 'none' } });
    expect([await chat(last, 'gold'), await chat(narrow, 'gold')]).toEqual([422, 403]);
    await change(parent, { scopes: ['route', 'delegate'] });
    expect(await chat(last)).toBe(403);
    await deed(parent.id, 'suspend');
    expect([await chat(last), (await box.run('keys', 'show', last.id)).out]).toEqual([
      403,
      expect.stringMatching(/state +suspended/),
    ]);
    await deed(parent.id, 'resume');
    await change(parent, { scopes: ['chat', 'delegate'], limits: { requests_per_minute: 1 } });
    expect([await chat(last), await chat(narrow, 'plain')].sort()).toEqual([200, 429]);
  });

  test('an operator cannot give a child key terms that no child key may have', async () => {
    const made = await child(await delegating());
    for (const [verb, state] of [
      ['suspend', 'suspended'],
      ['resume', 'valid'],
    ] as const) {
      const answer = await box.post(`/admin/keys/${made.id}/${verb}`, {});
      expect(await answer.json()).toMatchObject({ state });
    }
    expect((await change(made, { scopes: ['admin'] })).error).toMatchObject({ param: 'scopes[0]' });
    expect((await change(made, { labels: { tier: 'gold' } })).error).toMatchObject({ param: 'labels' });
    expect((await change(made, { labels: { 'child.task': 'a' }, models: ['plain'] })).error).toBeUndefined();
  });

  test('commands show the change, with the line of a key', async () => {
    const parent = await delegating();
    const middle = await child(parent, { scopes: ['chat', 'delegate'] });
    const last = await child(middle);
    await deed(parent.id, 'revoke');
    const { out } = await box.run('keys', 'list', '--parent', middle.id);
    expect(out).toMatch(new RegExp(`^ID .*PARENT\n${last.id} .*revoked .*${middle.id}\n$`));
    expect((await box.run('keys', 'show', last.id)).out).toMatch(new RegExp(`^parent +${middle.id}$`, 'm'));
    const listed = (await (await box.get('/admin/keys')).json()) as { data: KeyAnswer[] };
    expect(listed.data.find(({ id }) => id === last.id)).toMatchObject({ state: 'revoked', parent: middle.id });
  });
});

test('a wallet’s key cannot create child keys, even if the database row of the key allows it', async () => {
  const store = await openSqlite(join(box.data, 'signalbox.db'), [accessMigrations]);
  const keys = await openKeys({ store, now: Date.now });
  const { key, info } = await keys.createForHolder(`0x${'ab'.repeat(20)}`, 'agent');
  await store.commit([write(sql('UPDATE keys SET scopes = ? WHERE id = ?'), '["chat","delegate"]', info.id)]);
  keys.close();
  await store.close();
  await waitFor(async () => (await box.get('/v1/models', withKey(key))).status === 200);
  expect((await child({ key })).error).toMatchObject({ code: 'insufficient_permissions' });
});

test('a line of keys has at most three levels below its first key', async () => {
  const scopes = ['chat', 'delegate'];
  let key = await delegating();
  for (let depth = 1; depth <= 3; depth++) key = await child(key, { scopes });
  expect(await chat(key)).toBe(200);
  expect((await child(key, { scopes })).error?.message).toMatch(/its line has at most 3 levels/);
});

test('a key has at most a hundred child keys at a time, however many requests create keys at once', async () => {
  const parent = await delegating();
  const made = await Promise.all(Array.from({ length: 104 }, () => child(parent)));
  expect(made.filter(({ error }) => error?.code === 'invalid_value')).toHaveLength(4);
  await deed(made.find(({ id }) => id)!.id, 'revoke');
  expect((await child(parent)).id).toBeTruthy();
});

describe('the rate limits of a key apply to all its child keys together', () => {
  const passed = async (keys: readonly KeyAnswer[]) => (await statuses(keys)).filter((status) => status === 200).length;

  test('child keys share the key’s own limits, and the policy’s limits for each key', async () => {
    const own = await delegating({ limits: { requests_per_minute: 5 } });
    const [one, two] = [await child(own, { scopes: ['chat', 'delegate'] }), await child(own)];
    const last = await child(one);
    // Three earlier requests created keys, with the first and the second key.
    expect(await passed([one, two, last, last, own])).toBe(2);
    const slow = await delegating({ labels: { team: 'slow' } });
    const below = await child(slow, { labels: { 'child.team': 'fast' } });
    expect(await passed([slow, below, below, slow])).toBe(2);
  });

  test('a refusal because of a parent key’s limit says so', async () => {
    const own = await delegating({ limits: { requests_per_minute: 1 } });
    const below = await child(own);
    const response = await box.post('/v1/chat/completions', { model: 'best', messages: [] }, withKey(below.key));
    expect(await response.json()).toMatchObject({
      error: {
        code: 'rate_limit_exceeded',
        message: expect.stringMatching(/^The rate limit of a parent of this/),
      },
    });
  });
});
