import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** How long a change by the command line may take to count in a running server, ms. */
const WITHIN = 1_000;

let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = testPolicy(
    { first: upstream.url },
    {
      best: { endpoints: ['first'], price: { input: 1, output: 4 }, quality: 0.9 },
      middling: { endpoints: ['first'], price: { input: 0.5, output: 2 }, quality: 0.7 },
      plain: { endpoints: ['first'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
    },
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});

afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const status = async (key: string) => (await box.get('/v1/models', withKey(key))).status;
const chat = (key: string, model = 'auto') =>
  box.post('/v1/chat/completions', { model, messages: hello }, withKey(key));

interface Listed {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly scopes: readonly string[];
  readonly models: readonly string[] | null;
}

async function create(...flags: string[]): Promise<{ key: string; id: string }> {
  const { code, out } = await box.run('keys', 'create', ...flags);
  expect(code).toBe(0);
  const [, key = '', id = ''] = /^(sb_live_([a-z0-9]+)_[\w-]+)\n/.exec(out) ?? [];
  expect(out).toContain(`ID ${id}`);
  return { key, id };
}

/** Makes a key and waits until the server has taken note of it. */
async function usable(...flags: string[]): Promise<{ key: string; id: string }> {
  const made = await create(...flags);
  await waitFor(async () => (await status(made.key)) === 200, WITHIN);
  return made;
}

const list = async () => JSON.parse((await box.run('keys', 'list', '--json')).out) as Listed[];

describe('while the server runs', () => {
  test('a new key works within a second, and a revoked one stops within a second', async () => {
    const { key, id } = await usable();
    const { code, out } = await box.run('keys', 'revoke', id);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(id) });
    await waitFor(async () => (await status(key)) === 401, WITHIN);
    expect((await box.run('keys', 'list')).out).toMatch(new RegExp(`${id} .*revoked`));
    expect(await box.run('keys', 'revoke', id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('no valid key'),
    });
  });

  test('a key of another case, with more or with less behind it, is not the key', async () => {
    const { key } = await usable();
    const [id] = /^sb_live_\w{12}_/.exec(key)!;
    for (const wrong of [key.slice(0, -1), `${key}A`, key.toUpperCase(), id + 'A'.repeat(43), `${key} x`])
      expect(await status(wrong)).toBe(401);
  });
});

describe('a key', () => {
  test('opens what its scopes say, by default chat and route', async () => {
    const both = await usable();
    expect((await chat(both.key)).status).toBe(200);
    expect((await box.post('/v1/route', {}, withKey(both.key))).status).toBe(200);
    const router = await usable('--scope', 'route');
    expect((await chat(router.key)).status).toBe(403);
    expect((await box.post('/v1/route', {}, withKey(router.key))).status).toBe(200);
    const admin = await usable('--scope', 'admin');
    expect((await chat(admin.key)).status).toBe(403);
  });

  test('uses only the models of its list, by name and through a selector', async () => {
    const { key } = await usable('--model', 'middling', '--model', 'plain');
    expect((await chat(key, 'best')).status).toBe(403);
    const pinned = await answerOf(await chat(key, 'plain'));
    expect(pinned.model).toBe('plain');
    for (const selector of ['auto', 'auto-fast', 'auto-cheap'])
      expect(['middling', 'plain']).toContain((await answerOf(await chat(key, selector))).model);
    const { data } = (await (await box.get('/v1/models', withKey(key))).json()) as {
      data: { id: string; owned_by: string }[];
    };
    const models = data.filter(({ owned_by: owner }) => owner === 'first').map(({ id }) => id);
    expect(models.sort()).toEqual(['middling', 'plain']);
  });

  test('ends at its expiry', async () => {
    const { key, id } = await usable('--expires-in', '1m');
    // The clock cannot be moved from here, but the moment can.
    const db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
    db.run('PRAGMA busy_timeout = 1000');
    db.run('UPDATE keys SET expires_at = ? WHERE id = ?', [Date.now() - 1, id]);
    db.close();
    await waitFor(async () => (await status(key)) === 401, WITHIN);
    expect((await box.run('keys', 'list')).out).toMatch(new RegExp(`${id} .*expired`));
  });

  test('carries its labels into the ledger', async () => {
    const { key, id } = await usable('--label', 'team=search', '--label', 'env=a=b');
    expect((await list()).find((info) => info.id === id)?.labels).toEqual({ team: 'search', env: 'a=b' });
    expect((await chat(key)).status).toBe(200);
    const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
    const row = db.query<{ labels: string }, [string]>('SELECT labels FROM entries WHERE key_id = ?').get(id);
    db.close();
    expect(JSON.parse(row!.labels)).toEqual({ team: 'search', env: 'a=b' });
  });

  test('reads its own decisions and no other’s; an admin reads all', async () => {
    const [owner, stranger, admin] = await Promise.all([usable(), usable(), usable('--scope', 'admin')]);
    const chatted = (await answerOf(await chat(owner.key))).platform.decision_id;
    const routed = await box.post('/v1/route', {}, withKey(owner.key));
    for (const id of [chatted, routed.headers.get('x-signalbox-decision-id')]) {
      const read = async (key: string) => (await box.get(`/v1/decisions/${id}`, withKey(key))).status;
      await waitFor(async () => (await read(owner.key)) === 200);
      expect([await read(stranger.key), await read(admin.key)]).toEqual([404, 200]);
    }
  });
});

test('neither a list nor the data folder nor the log ever holds a secret', async () => {
  const { key } = await usable('--name', 'a name');
  const secret = key.split('_').slice(3).join('_');
  const { out } = await box.run('keys', 'list');
  const json = await box.run('keys', 'list', '--json');
  expect(out).toContain('a name');
  for (const text of [out, json.out, box.lines.join('\n')]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain('hash');
  }
  for (const file of ['signalbox.db', 'signalbox.db-wal'])
    expect((await Bun.file(join(box.data, file)).text()).includes(secret)).toBe(false);
});

describe('wrong usage gives one clear sentence and ends with 1:', () => {
  const cases: readonly [readonly string[], RegExp][] = [
    [[], /keys takes create, list, revoke or grant/],
    [['crate'], /keys takes create, list, revoke or grant/],
    [['create', 'extra'], /Unexpected argument 'extra'/],
    [['create', '--nme', 'x'], /Unknown option '--nme'/],
    [['create', '--scope', 'chat,amin'], /no scope "amin"/],
    [['create', '--scope', ''], /no scope ""/],
    [['create', '--label', 'team'], /name=value/],
    [['create', '--model', ''], /--model takes the ID/],
    [['create', '--expires-in', 'soon'], /90m, 12h or 30d/],
    [['create', '--expires-in', '0d'], /1m to 36500d/],
    [['create', '--expires-in', '99999999999d'], /1m to 36500d/],
    [['list', 'extra'], /Unexpected argument 'extra'/],
    [['revoke'], /takes the ID of one key/],
    [['revoke', 'a', 'b'], /takes the ID of one key/],
    [['revoke', 'nobody'], /no valid key with the ID nobody/],
  ];
  for (const [args, message] of cases) {
    test.concurrent(`keys ${args.join(' ')}`, async () => {
      const { code, out, err } = await box.run('keys', ...args);
      expect(err).toMatch(message);
      expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
      expect({ code, out }).toEqual({ code: 1, out: '' });
    });
  }

  test('and made no key', async () => {
    const before = (await list()).length;
    await box.run('keys', 'create', '--scope', 'nothing');
    expect((await list()).length).toBe(before);
  });
});
