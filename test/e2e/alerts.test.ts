import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import { AlertList, AlertTest } from '../../src/admin/alerts.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { waitFor } from '../support/answers.ts';
import { TOY, testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox, withKey, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const receiver = startReceiver();
const data = mkdtempSync(join(tmpdir(), 'signalbox-alerts-'));
let server: Signalbox | null = null;
afterAll(async () => {
  await server?.stop();
  receiver[Symbol.dispose]();
  rmSync(data, { recursive: true });
});

const SECRET = 'a secret of 24 characters';
const ENV = { OPS_URL: `${receiver.url}/ops`, OPS_SECRET: SECRET, SLACK_URL: `${receiver.url}/slack` };
const KEY = makeTestKey();
const POLICY = `${TOY}budgets:
  - { name: all-month, limit_credits: 1000, window: month }
alerts:
  webhooks:
    ops: { url_env: OPS_URL, secret_env: OPS_SECRET, allow_private_network: true }
    slack: { url_env: SLACK_URL, format: slack, allow_private_network: true }
  rules:
    - { name: budgets, on: budget_share, at: [0.1], to: [ops, slack] }
    - { name: forecast, on: budget_forecast, to: [slack] }
    - { name: keys, on: key_expiry, days: [3], to: [ops] }
    - { name: policy, on: policy_refused, to: [ops] }
`;
const folder = writePolicy(POLICY);
afterAll(() => rmSync(folder, { recursive: true }));

/** Checks of alerts run twenty times a second; all other timers have their normal intervals. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS ? 50 : ms, run),
};

async function start(): Promise<Signalbox> {
  await server?.stop();
  server = await startSignalbox({
    data,
    env: { ...ENV, SIGNALBOX_API_KEY: KEY },
    timers: quick,
    now,
    args: ['--policies', folder],
  });
  return server;
}

/** A day near the beginning of a month, when a budget soon has a forecast above its limit. Tests move the clock forward. */
let ahead = Date.UTC(2026, 10, 5, 12) - Date.now();
const now = (): number => Date.now() + ahead;

const listed = async (query = '') => {
  const answer = await server!.get(`/admin/alerts${query}`);
  return Value.Parse(AlertList, await answer.json());
};

/** Runs the verification code from the documentation, which receivers copy. */
async function verification(): Promise<(header: string | null, body: string, secret: string, now?: number) => boolean> {
  const page = readFileSync(join(import.meta.dir, '../../docs/operate/alerts.md'), 'utf8');
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const file = join(data, 'verify.mjs');
  writeFileSync(file, code);
  const { isGenuine } = await import(file);
  return isGenuine;
}

const upstream = useUpstream();
const WATCHED = testPolicy(
  { fake: upstream.url },
  { best: { endpoints: ['fake'] } },
  `alerts:
  webhooks:
    slack: { url_env: SLACK_URL, format: slack, allow_private_network: true }
  rules:
    - { name: down, on: provider_down, after_seconds: 0, to: [slack] }
    - { name: caches, on: cached_share, below: 0.4, to: [slack] }
`,
).replace('context_window: 32768', 'context_window: 1000000');

const RULE = '  rules: [{ name: costs, on: stated_cost_differs, above: 0.05, to: [slack] }]\n';

const of = (path: string) => receiver.received.filter((one) => one.path === path);

beforeEach(() => {
  receiver.received.length = 0;
});

describe('alerts of a server', () => {
  test('a server alerts once about a budget and once about a forecast, caused by chats, in each format', async () => {
    const signalbox = await start();
    const body = { model: 'toy', messages: [{ role: 'user', content: 'one two three '.repeat(40) }] };
    expect((await signalbox.post('/v1/chat/completions', body)).status).toBe(200);
    await waitFor(() => of('/ops').length > 0 && of('/slack').length > 1);
    const [ops] = of('/ops');
    expect(JSON.parse(ops!.body)).toMatchObject({
      type: 'alert',
      rule: 'budgets',
      subjects: [{ budget: 'all-month', at: 0.1 }],
    });
    const isGenuine = await verification();
    const header = ops!.headers.get('signalbox-signature');
    expect(isGenuine(header, ops!.body, SECRET, now())).toBe(true);
    const forged = [
      isGenuine(header, ops!.body.replace('0.1', '0.2'), SECRET, now()),
      isGenuine(header, ops!.body, `${SECRET}.`, now()),
      isGenuine(header, ops!.body, SECRET, now() + 301_000),
      isGenuine(null, ops!.body, SECRET, now()),
    ];
    expect(forged).toEqual([false, false, false, false]);
    const slack = of('/slack')
      .map(({ text }) => text)
      .sort();
    expect(slack).toEqual([
      expect.stringMatching(
        /^Signalbox, budgets: Budget “all-month” has spent \d+ % of its 1,000 Credits \(1 USD\); the budget renews at/,
      ),
      expect.stringMatching(
        /^Signalbox, forecast: Budget “all-month” would spend [\d.,]+ Credits \([\d.]+ USD\) at its current rate, \d+ % of its limit;/,
      ),
    ]);
  });

  test('HTTP and the command list the same alerts, and show no webhook address', async () => {
    const signalbox = server!;
    // A message arrives before the server notes that it was sent.
    await waitFor(async () =>
      (await listed()).data.every(({ deliveries }) => deliveries.every(({ state }) => state === 'sent')),
    );
    const text = await (await signalbox.get('/admin/alerts?limit=5')).text();
    const { out } = await signalbox.run('alerts', 'list', '--json', '--limit', '5', '--policies', folder);
    expect(JSON.parse(out)).toEqual(JSON.parse(text));
    expect([text.includes(receiver.url), text.includes(SECRET)]).toEqual([false, false]);
    expect(JSON.parse(text)).toMatchObject({
      webhooks: [
        { name: 'ops', state: 'ok', url_env: 'OPS_URL' },
        { name: 'slack', state: 'ok' },
      ],
      rules: [{ name: 'budgets', last_alert_at: expect.any(String) }, {}, { last_alert_at: null }, {}],
    });
    const list = await signalbox.run('alerts', 'list', '--policies', folder);
    expect(list.out).toContain('Webhook ops: ok.\n');
    expect((await signalbox.run('alerts', 'list')).out).toBe(list.out);
  });

  test('alerts are listed in pages', async () => {
    const signalbox = server!;
    await signalbox.post('/admin/alerts/test', { webhook: 'ops' });
    const first = await listed('?limit=1');
    expect([first.data.length, first.has_more]).toEqual([1, true]);
    const next = await listed(`?limit=200&after=${first.data[0]!.id}`);
    expect(next.has_more).toBe(false);
    expect(next.data.map(({ id }) => id)).not.toContain(first.data[0]!.id);
    expect((await signalbox.get('/admin/alerts?after=dec_1')).status).toBe(400);
    expect((await signalbox.get('/admin/alerts?limit=201')).status).toBe(400);
  });

  test('a server alerts about a key that expires soon, and not about a key that lives for only an hour', async () => {
    const signalbox = server!;
    const expire = { short: 3_600, soon: 4 * 86_400 };
    for (const [name, expires_in_seconds] of Object.entries(expire)) {
      expect((await signalbox.post('/admin/keys', { name, expires_in_seconds })).status).toBe(200);
    }
    ahead += 2 * 86_400_000 - 1_800_000;
    await waitFor(() => of('/ops').length > 0);
    expect(of('/ops').map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Signalbox, keys: Key soon \(\w+\) expires in 2 days, at/),
    ]);
  });

  test('a server alerts about a refused policy, and again when a policy is accepted', async () => {
    writeFileSync(join(folder, 'policy.yaml'), `${POLICY}nonsense: 1\n`);
    await waitFor(() => of('/ops').length === 1);
    expect(of('/ops')[0]!.text).toContain('unknown-key: there is no section `nonsense`');
    writeFileSync(join(folder, 'policy.yaml'), POLICY);
    await waitFor(() => of('/ops').length === 2);
    expect(of('/ops')[1]!.text).toContain('active again');
  });

  test('a restart does not send alerts again', async () => {
    const before = (await listed()).data.length;
    const signalbox = await start();
    await signalbox.post('/admin/alerts/test', { webhook: 'slack' });
    await waitFor(async () => (await listed()).data.length > before);
    expect(receiver.received.map(({ text }) => text)).toEqual([
      'Signalbox: This is a test. Alerts of Signalbox arrive here.',
    ]);
  });
});

describe('a test of webhooks', () => {
  test('a request or a command sends a test alert to one webhook or to all', async () => {
    const signalbox = server!;
    const answer = Value.Parse(AlertTest, await (await signalbox.post('/admin/alerts/test', {})).json());
    expect(answer.data).toEqual([
      { webhook: 'ops', sent: true, problem: null },
      { webhook: 'slack', sent: true, problem: null },
    ]);
    const { code, out } = await signalbox.run('alerts', 'test', 'slack', '--policies', folder);
    expect([code, out]).toEqual([2, expect.stringMatching(/^slack +false +the variable `SLACK_URL` is not set$/m)]);
    expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/ops', '/slack']);
    // A running server sends the test with its own environment variables, and lists it.
    const before = (await listed('?limit=200')).data.length;
    const served = await signalbox.run('alerts', 'test', 'slack', '--json');
    expect([served.code, JSON.parse(served.out)]).toEqual([
      0,
      { object: 'list', data: [{ webhook: 'slack', sent: true, problem: null }] },
    ]);
    expect((await listed('?limit=200')).data.length).toBe(before + 1);
  });

  test('a test alert names a webhook that does not exist, and only admins can send it', async () => {
    const signalbox = server!;
    const unknown = await signalbox.post('/admin/alerts/test', { webhook: 'op' });
    expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining('no webhook `op`')]);
    const key = await signalbox.makeKey('--scope', 'report');
    const refused = await fetch(`${signalbox.url}/admin/alerts/test`, { ...withKey(key), method: 'POST', body: '{}' });
    expect(refused.status).toBe(403);
    for (const more of [['--policies', folder], []]) {
      const command = await signalbox.run('alerts', 'test', 'op', ...more);
      expect([command.code, command.err]).toEqual([1, expect.stringContaining('no webhook `op`')]);
    }
  });
});

describe('alerts of providers', () => {
  let watched: Signalbox;
  beforeAll(async () => {
    watched = await startSignalbox({ policy: WATCHED, env: { ...ENV, ...UPSTREAM_ENV }, timers: quick });
  });
  afterAll(() => watched.stop());

  const chat = (content: string) =>
    watched.post('/v1/chat/completions', { model: 'best', max_tokens: 8, messages: [{ role: 'user', content }] });
  const told = () => of('/slack').map(({ text }) => text);

  test('a server alerts about a provider that does not answer, and again when it answers', async () => {
    expect((await chat('hello')).status).toBe(200);
    upstream.behave({ status: 500, error: 'no' });
    // The circuit breaker lets single attempts through. Attempts that the circuit breaker lets through must fail, too, until the server has
    // checked the alert rule.
    await waitFor(async () => {
      await chat('hello');
      return told().length > 0;
    });
    upstream.behave({});
    await waitFor(async () => (await chat('hello')).status === 200);
    await waitFor(() => told().length > 1);
    expect(told()).toEqual([
      expect.stringMatching(
        /^Signalbox, down: All requests to provider fake have failed for \d+ s\.(?: Its endpoint is unavailable\.)?$/,
      ),
      expect.stringMatching(/^Signalbox, down: Provider fake answers again\. The alert was sent \d+ s ago\.$/),
    ]);
  });

  test('a server alerts about prompts that providers do not have in their caches', async () => {
    expect((await chat('word '.repeat(140_000))).status).toBe(200);
    await waitFor(() => told().length > 0);
    expect(told()).toEqual([
      'Signalbox, caches: Providers had only 0 % of the input tokens of the last 60 min in their caches, less than 40 %. The beginning of your prompts may have changed.',
    ]);
  });
});

test('a server alerts about the key whose prompts are no longer in a cache, and about the endpoint, after enough prompts', async () => {
  const rules = ['key', 'endpoint'].map(
    (each) => `{ name: ${each}s, on: cached_share, each: ${each}, below: 0.4, to: [slack] }`,
  );
  const policy = WATCHED.replace(/ {2}rules:\n.*/s, `  rules: [${rules.join(', ')}]\n`);
  const signalbox = await startSignalbox({ policy, env: { ...ENV, ...UPSTREAM_ENV }, timers: quick });
  try {
    const steady = withKey(await signalbox.makeKey('--name', 'steady'));
    const body = { model: 'best', max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] };
    const send = async (count: number, init: RequestInit, prompt: number, cached: number) => {
      upstream.behave({ usage: { prompt_tokens: prompt, prompt_tokens_details: { cached_tokens: cached } } });
      for (let at = 0; at < count; at++)
        expect((await signalbox.post('/v1/chat/completions', body, init)).status).toBe(200);
    };
    const about = (text: string) => of('/slack').filter((one) => one.text.includes(text));
    await send(20, steady, 10_000, 9_000);
    await send(19, {}, 10_000, 0);
    expect(about('Providers had')).toEqual([]);
    await send(1, {}, 10_000, 0);
    await waitFor(() => about('Signalbox, keys: ').length > 0);
    expect(about('key steady')).toEqual([]);
    await send(20, steady, 100_000, 0);
    await waitFor(() => about('key steady').length > 0 && about('Signalbox, endpoints: ').length > 0);
    expect(about('key steady')[0]?.text).toMatch(
      /^Signalbox, keys: Providers had only \d+ % of the input tokens of key steady \(\w+\) in the last 60 min/,
    );
    expect(about('Signalbox, endpoints: ')[0]?.text).toContain('of best at fake in the last 60 min');
  } finally {
    upstream.behave({});
    await signalbox.stop();
  }
});

test('a server alerts about answers whose stated costs differ from the prices of the policy', async () => {
  const policy = `${testPolicy(
    { sim: 'unused' },
    { best: { endpoints: ['sim'], more: '    aliases: [b]\n' } },
    WATCHED.slice(WATCHED.indexOf('alerts:\n')).replace(/ {2}rules:\n.*/s, RULE),
  ).replace(/^ {2}sim: .*/m, '  sim: { adapter: simulated, settings: { stated_cost: 0.25 } }')}`;
  const signalbox = await startSignalbox({ policy, env: ENV, timers: quick });
  try {
    const body = { model: 'best', max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] };
    for (let at = 0; at < 20; at++) expect((await signalbox.post('/v1/chat/completions', body)).status).toBe(200);
    await waitFor(() => of('/slack').length > 0);
    expect(of('/slack').map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Signalbox, costs: The answers of best at sim stated costs of 5 USD in the last 60 min/),
    ]);
  } finally {
    await signalbox.stop();
  }
});
