import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { execSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A running server has applied a change by a command when the command returns; see `keys-at-once.test.ts`. In ms. */
const WITHIN = 4_000;

const upstream = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    {
      best: { endpoints: ['first'], price: { input: 1, output: 4 }, quality: 0.9 },
      middling: { endpoints: ['first'], price: { input: 0.5, output: 2 }, quality: 0.7 },
      plain: { endpoints: ['first'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
    },
    // Many tests send requests with keys that do not work yet, or no longer.
    'gateway: { failed_auth_per_minute: 1000000 }\n',
  ),
}));

const hello = [{ role: 'user', content: 'Say hello.' }];
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

/** Creates a key and waits until the server knows it. */
async function usable(...flags: string[]): Promise<{ key: string; id: string }> {
  const made = await create(...flags);
  await waitFor(async () => (await status(made.key)) === 200, WITHIN);
  return made;
}

const list = async () => JSON.parse((await box.run('keys', 'list', '--json')).out).data as Listed[];

describe('while the server runs', () => {
  test('a key with other letter case, with missing or additional characters, is not accepted', async () => {
    const { key } = await usable();
    const [id] = /^sb_live_\w{12}_/.exec(key)!;
    for (const wrong of [key.slice(0, -1), `${key}A`, key.toUpperCase(), id + 'A'.repeat(43), `${key} x`])
      expect(await status(wrong)).toBe(401);
  });
});

describe('a key', () => {
  test('a key may use only the models of its list, by name and through a selector', async () => {
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

  test('the ledger has the labels of the key', async () => {
    const { key, id } = await usable('--label', 'team=search', '--label', 'env=a=b');
    expect((await list()).find((info) => info.id === id)?.labels).toEqual({ team: 'search', env: 'a=b' });
    expect((await chat(key)).status).toBe(200);
    const db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
    const row = db.query<{ labels: string }, [string]>('SELECT labels FROM entries WHERE key_id = ?').get(id);
    db.close();
    expect(JSON.parse(row!.labels)).toEqual({ team: 'search', env: 'a=b' });
  });

  test('a key reads its own decisions and no other’s; an admin reads all', async () => {
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

describe('wrong usage of a key command gets one clear sentence and exit code 1:', () => {
  const cases: readonly [readonly string[], RegExp][] = [
    [[], /The commands of keys are create, import, list, show, change, grant, rotate, suspend, resume, revoke or log/],
    [
      ['crate'],
      /The commands of keys are create, import, list, show, change, grant, rotate, suspend, resume, revoke or log/,
    ],
    [['create', 'extra'], /keys create does not take "extra"/],
    [['create', '--nme', 'x'], /Unknown option '--nme'/],
    [['create', '--scope', ''], /--scope must be one of "chat"/],
    [['create', '--label', 'team'], /name=value/],
    [['create', '--model', ''], /ID of a model must not be empty/],
    [['create', '--expires-in', 'soon'], /90m, 12h or 30d/],
    [
      ['change', 'k7mw2pq9x4ta', '--expires-at', '2030-02-18'],
      /Unknown option '--expires-at'\. Did you mean `--expires-in`\?/,
    ],
    [['create', '--expires-in', '0d'], /1m to 36500d/],
    [['list', 'extra'], /keys list does not take "extra"/],
    [['revoke'], /keys revoke needs an ID/],
    [['change', 'nobody', '--name', 'x'], /No key that can be changed has this ID/],
    [['change', 'test00000001'], /Name at least one change/],
    [['change', 'test00000001', '--rpm', '5', '--no-rpm'], /--no-rpm contradicts/],
    [['change', 'test00000001', '--rpm', 'many'], /--rpm must be a whole number/],
    [['change', 'test00000001', '--no-budget', '--budget', '5/day'], /--no-budget contradicts/],
    [['revoke', 'nobody'], /No key has this ID/],
  ];
  for (const [args, message] of cases) {
    test.concurrent(`keys ${args.join(' ')}`, async () => {
      const { code, out, err } = await box.run('keys', ...args);
      expect(err).toMatch(message);
      expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
      expect({ code, out }).toEqual({ code: 1, out: '' });
    });
  }
});

describe('a rotation', () => {
  test('a rotation without an overlap ends the old secret within a second, and keeps spending, budgets and balance', async () => {
    const { key, id } = await usable('--budget', '50/month', '--budget', '20.5/day@Europe/Berlin:downgrade');
    await box.run('keys', 'grant', id, '40', '--note', 'a start');
    const cost = (await answerOf(await chat(key))).platform.credits_consumed;
    expect(cost).toBeGreaterThan(0);
    const { out } = await box.run('keys', 'rotate', id, '--overlap', '0');
    expect(out).toContain('old secret no longer works');
    await waitFor(async () => (await status(key)) === 401, WITHIN);
    const more = (await answerOf(await chat(out.split('\n')[0]!))).platform.credits_consumed;
    const shown = JSON.parse((await box.run('keys', 'show', id, '--json')).out);
    const spent = Math.round((cost + more) * 1e6) / 1e6;
    expect(shown).toMatchObject({
      id,
      state: 'valid',
      budgets: [
        {
          limit_credits: 50,
          window: 'month',
          time_zone: 'UTC',
          on_exhausted: 'cap',
          spent_credits: spent,
          spent_usd: expect.stringMatching(/^0\.00\d+$/),
        },
        { limit_credits: 20.5, window: 'day', time_zone: 'Europe/Berlin', on_exhausted: 'downgrade' },
      ],
      balance: { granted_credits: 40 },
    });
    const { left_credits: left, renews_at: renews } = shown.budgets[0];
    expect(left).toBeCloseTo(50 - spent, 6);
    expect(renews).toMatch(/^20\d\d-\d\d-01T00:00:00.000Z$/);
    expect(shown.balance.left_credits).toBeCloseTo(40 - shown.balance.spent_credits, 6);
  });
});

describe('keys show and keys log', () => {
  test('keys show and keys log show everything that a key was created with', async () => {
    const flags = ['--name', 'app', '--rpm', '60', '--tpm', '100000', '--streams', '4', '--budget', '500/month'];
    const { id } = await create(...flags, '--label', 'team=a', '--model', 'plain', '--expires-in', '30d');
    const { out } = await box.run('keys', 'show', id);
    expect(out).toMatch(/^name +app$/m);
    expect(out).toMatch(/^state +valid$/m);
    expect(out).toMatch(/^labels +team=a$/m);
    expect(out).toMatch(/^models +plain$/m);
    expect(out).toMatch(/^last used +never$/m);
    expect(out).toMatch(/^limits +requests per minute 60, tokens per minute 100,000, concurrent streams 4$/m);
    expect(out).toMatch(/^budget +500 Credits \(0\.5 USD\) a month, .*: 0 Credits \(0 USD\) spent in this window/m);
    expect(out).toMatch(/^expires +20/m);
    const [entry] = JSON.parse((await box.run('keys', 'log', '--key', id, '--json')).out).data;
    expect(entry).toMatchObject({
      action: 'create',
      key_id: id,
      actor: { kind: 'cli', name: execSync('id -un').toString().trim() },
      request_id: null,
      details: { name: 'app', limits: { requests_per_minute: 60 }, budgets: [{ limit_credits: 500 }] },
    });
  });

  test('keys show shows the last use once a server has written it, and that a key comes from the environment', async () => {
    const data = temporaryFolder();
    const first = await startSignalbox({ data });
    const before = Date.now();
    expect((await first.get('/v1/models')).status).toBe(200);
    first.signal('SIGTERM');
    expect(await first.exited).toBe(0);
    const id = first.key.split('_')[2]!;
    const { out } = await runHere(['keys', 'show', id, '--json', '--data', data]);
    expect(Date.parse(JSON.parse(out).last_used_at)).toBeGreaterThanOrEqual(before);
    expect((await runHere(['keys', 'list', '--data', data])).out).toMatch(
      new RegExp(`${id} .* ${new Date(before).toISOString().slice(0, 10)} \\d\\d:\\d\\d UTC +valid`),
    );
    expect((await runHere(['keys', 'log', '--data', data])).out).toMatch(new RegExp(`server +install +(?:key )?${id}`));
    await first.stop();
    rmSync(data, { recursive: true });
  });
});

test('a whole key instead of an ID is refused, and the error does not repeat it', async () => {
  const { key } = await create();
  for (const command of ['show', 'revoke', 'rotate']) {
    const { code, out, err } = await box.run('keys', command, key);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('the part between sb_live_ and the next underscore');
    expect(err).not.toContain(key.slice(25, 33));
  }
});
