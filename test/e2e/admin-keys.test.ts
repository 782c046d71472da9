import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A change that stops a key takes effect within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

const upstream = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } }, plain: { endpoints: ['first'] } },
    // Many tests send requests with keys that no longer work.
    'gateway: { failed_auth_per_minute: 1000000 }\n',
  ),
}));

const status = async (key: string) => (await box.get('/v1/models', withKey(key))).status;
const chat = (key: string) =>
  box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] }, withKey(key));

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly overlap_ends_at: string | null;
  readonly last_used_at: string | null;
  readonly data: readonly Omit<KeyAnswer, 'key'>[];
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}
const keyOf = async (response: Response): Promise<KeyAnswer> => (await response.json()) as KeyAnswer;

async function create(body: object = {}): Promise<KeyAnswer> {
  const response = await box.post('/admin/keys', body);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return keyOf(response);
}
const deed = (id: string, what: string, body: object = {}) => box.post(`/admin/keys/${id}/${what}`, body);
const shown = async (id: string) => keyOf(await box.get(`/admin/keys/${id}`));

describe('/admin/keys', () => {
  test('a new key works as soon as it is returned, by default with the scopes chat and route', async () => {
    const made = await create();
    expect(made.key).toMatch(new RegExp(`^sb_live_${made.id}_[\\w-]{43}$`));
    expect((await chat(made.key)).status).toBe(200);
    expect((await box.post('/v1/route', {}, withKey(made.key))).status).toBe(200);
    expect((await box.get('/admin/keys', withKey(made.key))).status).toBe(403);
    expect((await shown(made.id)).last_used_at).not.toBeNull();
  });

  test('a new key gets everything that the request sets', async () => {
    const terms = {
      name: 'trial',
      scopes: ['chat'],
      labels: { team: 'a' },
      models: ['best'],
      not_models: ['plain', 'first/*'],
      limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent_streams: 4 },
      budgets: [{ limit_credits: 0.000003, window: 'month', time_zone: 'Europe/Berlin', on_exhausted: 'downgrade' }],
    };
    const made = await create({ ...terms, expires_in_seconds: 3_600 });
    const { key, ...rest } = made;
    expect(key).not.toBe('');
    expect(rest).toMatchObject({ ...terms, state: 'valid', rotated_at: null, revoked_at: null, last_used_at: null });
    const now = await shown(made.id);
    expect(now).toMatchObject({ ...terms, balance: null });
    expect((await keyOf(await box.get('/admin/keys'))).data.find(({ id }) => id === made.id)).toMatchObject(rest);
  });

  test('an admin key may create another admin key', async () => {
    const made = await create({ scopes: ['admin'] });
    expect((await box.get('/admin/keys', withKey(made.key))).status).toBe(200);
    expect((await chat(made.key)).status).toBe(403);
  });

  test('a rotated, revoked or expired key stops at once, and commands show it', async () => {
    const [rotated, revoked, expired] = [await create(), await create(), await create({ expires_in_seconds: 60 })];
    const next = await keyOf(await deed(rotated.id, 'rotate', { overlap_seconds: 0 }));
    expect([await status(rotated.key), await status(next.key)]).toEqual([401, 200]);
    expect(next).toMatchObject({ id: rotated.id, overlap_ends_at: null });
    const answer = await deed(revoked.id, 'revoke');
    expect(await keyOf(answer)).toMatchObject({ id: revoked.id, state: 'revoked' });
    expect(await status(revoked.key)).toBe(401);
    // The test cannot move the server's clock, but it can move the key's expiry.
    const db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
    db.run('PRAGMA busy_timeout = 1000');
    db.run('UPDATE keys SET expires_at = ? WHERE id = ?', [Date.now() - 1, expired.id]);
    db.close();
    await waitFor(async () => (await status(expired.key)) === 401, WITHIN);
    expect((await shown(expired.id)).state).toBe('expired');
    expect((await box.run('keys', 'list')).out).toMatch(new RegExp(`${revoked.id} .*revoked`));
  });

  test('a rotated key has two secrets until the overlap ends by itself, after a day by default', async () => {
    const made = await create();
    const day = await keyOf(await deed(made.id, 'rotate'));
    expect(Date.parse(day.overlap_ends_at!) - Date.now()).toBeGreaterThan(86_000_000);
    expect([await status(made.key), await status(day.key)]).toEqual([200, 200]);
    const second = await keyOf(await deed(made.id, 'rotate', { overlap_seconds: 1 }));
    expect([await status(made.key), await status(second.key)]).toEqual([401, 200]);
    await waitFor(async () => (await status(day.key)) === 401, WITHIN);
    expect(await status(second.key)).toBe(200);
    expect((await shown(made.id)).overlap_ends_at).toBeNull();
  });

  test('a command can revoke a key created by the API, and the API can revoke a key created by a command', async () => {
    const made = await create();
    await box.run('keys', 'revoke', made.id);
    await waitFor(async () => (await status(made.key)) === 401, WITHIN);
    const key = await box.makeKey();
    await waitFor(async () => (await status(key)) === 200, WITHIN);
    await deed(key.split('_')[2]!, 'revoke');
    expect(await status(key)).toBe(401);
  });

  test('a grant counts as soon as it is returned; a key without a grant is billed afterwards', async () => {
    const made = await create();
    const granted = await deed(made.id, 'grant', { credits: 30, note: 'invoice 1042' });
    const balance = { granted_credits: 30, spent_credits: 0, left_credits: 30 };
    expect(await keyOf(granted)).toMatchObject({ id: made.id, balance });
    const paid = (await answerOf(await chat(made.key))).platform.credits_consumed;
    expect(paid).toBeGreaterThan(0);
    expect(await shown(made.id)).toMatchObject({ balance: { granted_credits: 30, spent_credits: paid } });
    expect(JSON.parse((await box.run('keys', 'show', made.id, '--json')).out)).toMatchObject({
      balance: { granted_credits: 30, spent_credits: paid },
    });
    await deed(made.id, 'grant', { credits: -29.999999 });
    expect((await chat(made.key)).status).toBe(402);
  });

  test('a budget shows what was charged in its window', async () => {
    const made = await create({ budgets: [{ limit_credits: 50, window: 'day' }] });
    const paid = (await answerOf(await chat(made.key))).platform.credits_consumed;
    expect(await shown(made.id)).toMatchObject({ budgets: [{ limit_credits: 50, spent_credits: paid }] });
  });
});

describe('the audit trail', () => {
  test('the audit trail has the changes by the API and by commands, with their authors', async () => {
    const made = await create({ name: 'trailed' });
    const rotated = await deed(made.id, 'rotate', { overlap_seconds: 60 });
    await deed(made.id, 'grant', { credits: 2, note: 'a note' });
    await deed(made.id, 'revoke');
    await deed(made.id, 'revoke');
    const { data } = await keyOf(await box.get(`/admin/trail?key=${made.id}`));
    const admin = { actor: { kind: 'key', name: 'test00000001' }, key_id: made.id };
    expect(data).toMatchObject([
      { ...admin, action: 'revoke' },
      { ...admin, action: 'grant', details: { credits: 2, note: 'a note' } },
      { ...admin, action: 'rotate', request_id: rotated.headers.get('x-request-id') },
      { ...admin, action: 'create', details: { name: 'trailed' } },
    ]);
    await box.run('keys', 'create', '--name', 'by hand');
    const last = await keyOf(await box.get('/admin/trail?limit=1'));
    expect(last.data).toMatchObject([{ actor: { kind: 'cli' }, action: 'create', request_id: null }]);
    const { out } = await box.run('keys', 'log', '--key', made.id);
    expect(out).toMatch(/key test00000001 +req_\w+ +127\.0\.0\.1 +rotate/);
  });
});

describe('an invalid request is refused with the name of its field, and changes nothing:', () => {
  const cases: readonly (readonly [path: string, body: unknown, code: string, param: string | null])[] = [
    ['/admin/keys', { nme: 'x' }, 'unknown_field', 'nme'],
    ['/admin/keys', { name: 7 }, 'invalid_type', 'name'],
    ['/admin/keys', { name: 'two\nlines' }, 'invalid_value', 'name'],
    ['/admin/keys', { scopes: [] }, 'invalid_value', 'scopes'],
    ['/admin/keys', { scopes: ['root'] }, 'invalid_value', 'scopes[0]'],
    ['/admin/keys', { labels: { team: 7 } }, 'invalid_type', 'labels.team'],
    ['/admin/keys', { models: [] }, 'invalid_value', 'models'],
    ['/admin/keys', { not_models: [] }, 'invalid_value', 'not_models'],
    ['/admin/keys', { not_models: [''] }, 'invalid_value', 'not_models[0]'],
    ['/admin/keys', { not_models: ['a', 'x'.repeat(201)] }, 'invalid_value', 'not_models[1]'],
    ['/admin/keys', { wallets: [] }, 'invalid_value', 'wallets'],
    ['/admin/keys', { wallets: [7] }, 'invalid_type', 'wallets[0]'],
    ['/admin/keys', { wallets: ['0xabc'] }, 'invalid_value', 'wallets[0]'],
    ['/admin/keys', { wallet: `0x${'ab'.repeat(20)}` }, 'unknown_field', 'wallet'],
    ['/admin/keys', { expires_in_seconds: 1 }, 'out_of_range', 'expires_in_seconds'],
    ['/admin/keys', { limits: { requests_per_minute: 0 } }, 'out_of_range', 'limits.requests_per_minute'],
    ['/admin/keys', { limits: { rpm: 5 } }, 'unknown_field', 'limits.rpm'],
    ['/admin/keys', { budgets: [{ window: 'day' }] }, 'missing_field', 'budgets[0].limit_credits'],
    ['/admin/keys', { budgets: [{ limit_credits: 5, window: 'year' }] }, 'invalid_value', 'budgets[0].window'],
    ['/admin/keys', { budgets: [{ limit_credits: 1e-7, window: 'day' }] }, 'invalid_value', 'budgets[0].limit_credits'],
    [
      '/admin/keys',
      { budgets: [{ limit_credits: 1, window: 'day', time_zone: 'Mars' }] },
      'invalid_value',
      'budgets[0].time_zone',
    ],
    ['/admin/keys', [], 'invalid_type', null],
    ['/admin/keys/nobody/rotate', {}, 'not_found', null],
    ['/admin/keys/nobody/revoke', {}, 'not_found', null],
    ['/admin/keys/nobody/grant', { credits: 1 }, 'not_found', null],
    ['/admin/keys/test00000001/rotate', { overlap_seconds: -1 }, 'out_of_range', 'overlap_seconds'],
    ['/admin/keys/test00000001/rotate', { overlap_seconds: 2_592_001 }, 'out_of_range', 'overlap_seconds'],
    ['/admin/keys/test00000001/grant', {}, 'missing_field', 'credits'],
    ['/admin/keys/test00000001/grant', { credits: 0 }, 'invalid_value', 'credits'],
    ['/admin/keys/test00000001/grant', { credits: 1, note: 'sb_live_abc_defgh' }, 'invalid_value', 'note'],
    ['/admin/keys/a/b/rotate', {}, 'not_found', null],
    ['/admin/keys//rotate', {}, 'not_found', null],
  ];
  for (const [path, body, code, param] of cases) {
    test(`${path} ${JSON.stringify(body)}`, async () => {
      const before = await (await box.get('/admin/trail')).text();
      const { error } = await keyOf(await box.post(path, body));
      expect(error).toMatchObject({ code, param });
      expect(await (await box.get('/admin/trail')).text()).toBe(before);
    });
  }

  test.each(['limit=0', 'limit=1001', 'limit=ten', 'limit=', 'limit=1.5'])('/admin/trail?%s', async (query) => {
    const response = await box.get(`/admin/trail?${query}`);
    expect(response.status).toBe(400);
    expect((await keyOf(response)).error).toMatchObject({ code: 'out_of_range', param: 'limit' });
  });

  test('the error for DELETE names the method to use', async () => {
    const response = await box.get('/admin/keys/test00000001', { method: 'DELETE' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, PATCH']);
  });
});

test('no part of a secret is stored or shown except in the answer that created it', async () => {
  const made = await create({ name: 'canary' });
  const rotated = await keyOf(await deed(made.id, 'rotate'));
  const byHand = await box.makeKey('--name', 'canary');
  const again = (await box.run('keys', 'rotate', byHand.split('_')[2]!)).out.split('\n')[0]!;
  expect((await chat(rotated.key)).status).toBe(200);
  await deed(made.id, 'grant', { credits: 1 });
  const ids = [made.id, byHand.split('_')[2]!];
  const texts = [
    ...(await Promise.all(['/admin/keys', '/admin/trail'].map(async (path) => (await box.get(path)).text()))),
    ...(await Promise.all(ids.map(async (id) => (await box.get(`/admin/keys/${id}`)).text()))),
    ...(
      await Promise.all(
        [['list'], ['list', '--json'], ['log'], ['log', '--json']].map((args) => box.run('keys', ...args)),
      )
    ).map(({ out, err }) => out + err),
    ...(await Promise.all(ids.map((id) => box.run('keys', 'show', id)))).map(({ out }) => out),
    await (await deed(made.id, 'revoke')).text(),
    await (await deed(rotated.key, 'revoke')).text(),
    await (await box.get(`/admin/keys/${rotated.key}`)).text(),
    await (await fetch(`${box.url}/metrics`)).text(),
    box.lines.join('\n'),
    ...(await Promise.all(
      ['signalbox.db', 'signalbox.db-wal'].map(async (file) =>
        Buffer.from(await Bun.file(join(box.data, file)).arrayBuffer()).toString('latin1'),
      ),
    )),
  ];
  expect(texts.every((text) => text.length > 20)).toBe(true);
  expect(texts[0]).toContain(made.id);
  for (const key of [made.key, rotated.key, byHand, again, box.key]) {
    const secret = key.split('_').slice(3).join('_');
    expect(secret).toHaveLength(43);
    for (let i = 0; i + 8 <= secret.length; i++) {
      const part = secret.slice(i, i + 8);
      expect(texts.findIndex((text) => text.includes(part))).toBe(-1);
    }
  }
});
