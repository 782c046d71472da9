import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { auditLedger } from '../../../src/ledger/audit/run.ts';
import { World } from '../../store/hostile/world.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { layCable } from '../../support/cable.ts';
import { startOver } from '../../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { startServers } from '../../support/postgres-servers.ts';
import { makeTestKey, type Signalbox, type StartOptions, writePolicy } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Two servers that share one database over HTTP, while they have different active policies, and when a push ends this state. */
const upstream = useUpstream({ key: UPSTREAM_KEY });
const KEY = makeTestKey();
const HASH = /^[0-9a-f]{16}$/;
const models = { best: { endpoints: ['fake'] } };
const policyOf = (...budgets: string[]) =>
  testPolicy(
    { fake: upstream.url },
    models,
    `budgets:\n${budgets.map((one) => `  - { ${one}, window: day }\n`).join('')}`,
  );
/** Limits with these names and figures. */
const limitsOf = (figures: Readonly<Record<string, string>>) =>
  `rate_limits:\n${Object.entries(figures)
    .map(([name, figure]) => `  - { name: ${name}, each: key, match: 'key.labels.team == "${name}"', ${figure} }\n`)
    .join('')}`;
const OLDER_LIMITS = limitsOf({
  asked: 'requests_per_minute: 90',
  streams: 'concurrent_streams: 9',
  old: 'requests_per_minute: 2',
});
const NEWER_LIMITS = limitsOf({
  asked: 'requests_per_minute: 4',
  streams: 'concurrent_streams: 1',
  new: 'requests_per_minute: 2',
});
const budget = (name: string, credits: number) =>
  `name: ${name}, match: 'key.labels.team == "${name}"', limit_credits: ${credits}`;

const chat = (one: Signalbox, key: string, more = {}, signal?: AbortSignal) =>
  one.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content: 'How far is the moon?' }], max_tokens: 100, ...more },
    { headers: { authorization: `Bearer ${key}` }, ...(signal && { signal }) },
  );

/** @returns the reported Credits until the first refusal, or for this many requests */
async function spendAt(one: Signalbox, key: string, requests = 100): Promise<{ told: number; isRefused: boolean }> {
  let told = 0;
  for (let asked = 0; asked < requests; asked++) {
    const answer = await chat(one, key);
    await answer.text();
    if (answer.status === 402) return { told, isRefused: true };
    expect(answer.status).toBe(200);
    told += Number(answer.headers.get('x-signalbox-credits'));
  }
  return { told, isRefused: false };
}

/** Creates a key with a label, and waits until both servers accept it. */
async function keyOf(two: readonly Signalbox[], team: string): Promise<string> {
  const made = await two[0]!.post('/admin/keys', { name: team, scopes: ['chat'], labels: { team } });
  const { key } = (await made.json()) as { key: string };
  await Promise.all(
    two.map((one) =>
      waitFor(async () => {
        const { status } = await one.get('/v1/models', { headers: { authorization: `Bearer ${key}` } });
        return status === 200;
      }),
    ),
  );
  return key;
}

/** Starts a server under the name of its instance. */
type Starter = (name: string, options: StartOptions) => Promise<Signalbox>;

async function pair(startOne: Starter, ...args: string[]) {
  const policy = policyOf(budget('red', 5)) + OLDER_LIMITS;
  const folders = [writePolicy(policy), writePolicy(policy)];
  const start = (name: string, folder: string) =>
    startOne(name, { env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: KEY }, args: ['--policies', folder, ...args] });
  return { folders, two: [await start('a', folders[0]!), await start('b', folders[1]!)] as const };
}

const DATABASES = {
  'a database in memory': async () => {
    const world = new World();
    const start: Starter = (name, options) => startOver(world, name, options);
    return { start, findings: async () => (await auditLedger(world.store.journal, { idle: true })).findings };
  },
  'a PostgreSQL': async () => {
    const database = await startServers(0);
    const start: Starter = (_name, options) => database.start(options);
    const findings = async () => {
      const { out } = await database.servers[0]!.run('ledger', 'audit', '--json');
      return (JSON.parse(out) as { findings: readonly { kind: string }[] }).findings;
    };
    return { start, findings };
  },
};

describe.each(Object.entries(DATABASES))('two servers that follow their files, at %s', (_, open) => {
  let database: Awaited<ReturnType<typeof open>>;
  let stage: Awaited<ReturnType<typeof pair>>;
  beforeAll(async () => {
    database = await open();
    stage = await pair(database.start);
    // Only the second server gets the new policy.
    await Bun.write(
      join(stage.folders[1]!, 'policy.yaml'),
      policyOf(budget('red', 0.5), budget('blue', 0.5)) + NEWER_LIMITS,
    );
    expect((await stage.two[1].post('/admin/policy/reload', {})).status).toBe(200);
    const key = await keyOf(stage.two, 'asked');
    await waitFor(async () => (await chat(stage.two[0], key)).headers.get('x-ratelimit-limit-requests') === '4');
  });
  afterAll(() => Promise.all(stage.two.map((one) => one.stop())));

  test('while the servers have different policies, the newest limit of a budget also applies on the server with the older policy', async () => {
    const [older] = stage.two;
    const { told, isRefused } = await spendAt(older, await keyOf(stage.two, 'red'));
    expect(isRefused).toBe(true);
    expect(told).toBeGreaterThan(0.1);
    expect(told).toBeLessThanOrEqual(0.5);
  });

  test('a budget in one policy alone applies only on its server, but counts the charges of both servers', async () => {
    const [older, newer] = stage.two;
    const key = await keyOf(stage.two, 'blue');
    const { told, isRefused } = await spendAt(older, key, 20);
    expect(isRefused).toBe(false);
    expect(told).toBeGreaterThan(0.5);
    await waitFor(async () => (await spendAt(newer, key, 1)).isRefused);
    expect((await spendAt(older, key, 1)).isRefused).toBe(false);
  });

  test('the newest limit on requests applies on the server with the older policy, which reports the limit', async () => {
    const [older] = stage.two;
    const key = await keyOf(stage.two, 'asked');
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat(older, key)));
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed).toBeGreaterThanOrEqual(4);
    // On a slow machine, one more request passes every 15 seconds.
    expect(passed).toBeLessThanOrEqual(4 + Math.floor((performance.now() - begun) / 15_000));
    const { error } = await answerOf(answers.find(({ status }) => status === 429)!);
    expect(error?.message).toContain('`asked` allows 4 requests a minute');
  });

  test('the newest limit on streams applies on the server with the older policy', async () => {
    const [older, newer] = stage.two;
    const key = await keyOf(stage.two, 'streams');
    const leaving = new AbortController();
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    expect((await chat(newer, key, { stream: true }, leaving.signal)).status).toBe(200);
    expect((await chat(older, key, { stream: true })).status).toBe(429);
    leaving.abort();
    const next = await waitFor(async () => {
      const answer = await chat(older, key, { stream: true });
      return answer.status === 200 ? answer : null;
    });
    expect((await eventsOf(next)).done).toBe(true);
  });

  test('a limit in one policy alone applies only on its server', async () => {
    const [older, newer] = stage.two;
    for (const [name, one, other] of [
      ['old', older, newer],
      ['new', newer, older],
    ] as const) {
      const key = await keyOf(stage.two, name);
      const ask = (at: Signalbox) => Promise.all(Array.from({ length: 8 }, async () => (await chat(at, key)).status));
      expect(await ask(other)).toEqual(Array(8).fill(200));
      expect(await ask(one)).toContain(429);
    }
  });

  test('the audit of the bookings of both servers finds no error', async () => {
    expect(await database.findings()).toEqual([]);
  });
});

describe.each(Object.entries(DATABASES))('two servers that follow pushes, at %s', (_, open) => {
  let stage: Awaited<ReturnType<typeof pair>>;
  beforeAll(async () => {
    stage = await pair((await open()).start, '--policies-from', 'store');
  });
  afterAll(() => Promise.all(stage.two.map((one) => one.stop())));

  const push = async (text: string) => {
    const [a] = stage.two;
    const { revision } = (await (await a.get('/admin/policy')).json()) as { revision: string };
    const answer = await a.post(
      '/admin/policy/pushes',
      { files: [{ name: 'policy.yaml', text }] },
      { headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'if-match': revision } },
    );
    expect([answer.status, ((await answer.json()) as { lagging: string[] }).lagging]).toEqual([200, []]);
  };

  test('a pushed limit and budget apply on both servers once the push returns, counting earlier charges', async () => {
    const [a, b] = stage.two;
    const key = await keyOf(stage.two, 'red');
    const before = await spendAt(b, key, 5);
    await push(policyOf(budget('red', 0.5), budget('blue', 0.5)));
    const rest = [await spendAt(a, key), await spendAt(b, key)];
    expect(rest.map(({ isRefused }) => isRefused)).toEqual([true, true]);
    const told = before.told + rest[0]!.told + rest[1]!.told;
    expect(told).toBeGreaterThan(0.1);
    expect(told).toBeLessThanOrEqual(0.5);
    const blue = await keyOf(stage.two, 'blue');
    const both = (await spendAt(a, blue)).told + (await spendAt(b, blue)).told;
    expect(both).toBeLessThanOrEqual(0.5);
  });

  test('each decision names the policy that made it, and the price that was charged', async () => {
    const [a, b] = stage.two;
    const key = await keyOf(stage.two, 'green');
    const ask = async (one: Signalbox) => {
      const answer = await chat(one, key);
      const { platform } = (await answer.json()) as { platform: { decision_id: string; policy_revision: string } };
      const money = await (await one.get(`/admin/decisions/${platform.decision_id}/money`)).json();
      const { entries } = money as { entries: readonly { price_revision: string | null }[] };
      return { policy: platform.policy_revision, price: entries.flatMap(({ price_revision }) => price_revision ?? []) };
    };
    const before = await ask(b);
    expect(before).toEqual({ policy: expect.stringMatching(HASH), price: [expect.stringMatching(HASH)] });
    await push(policyOf(budget('red', 0.5)));
    const after = await Promise.all([ask(a), ask(b)]);
    const { revision } = (await (await b.get('/admin/policy')).json()) as { revision: string };
    expect(revision).not.toBe(before.policy);
    // This policy differs but has the same prices.
    const same = { policy: revision, price: before.price };
    expect(after).toEqual([same, same]);
    await push(policyOf(budget('red', 0.5)).replaceAll(/output: \d+/g, 'output: 777'));
    const dearer = await Promise.all([ask(a), ask(b)]);
    expect(dearer[1]).toEqual(dearer[0]!);
    expect([dearer[0]!.price.length, dearer[0]!.price[0] === before.price[0]]).toEqual([1, false]);
  });
});

test('once a reload or a change of a key returns, no server grants by the older limit, even with a slow database', async () => {
  await using database = await startServers(0);
  using cable = await layCable(database.database.port);
  const near = (url: string) => url.replace(`:${database.database.port}/`, `:${cable.port}/`);
  const { folders, two } = await pair((name, options) =>
    database.start(name === 'a' ? { ...options, env: { ...options.env, DATABASE_URL: near(database.url) } } : options),
  );
  const key = await keyOf(two, 'red');
  expect((await spendAt(two[1], key, 1)).isRefused).toBe(false);
  await Bun.write(join(folders[0]!, 'policy.yaml'), policyOf(budget('red', 0.01)));
  let held = 0;
  cable.holds = (sent) => (sent.includes('enforce') && ++held ? Bun.sleep(500) : null);
  expect((await two[0].post('/admin/policy/reload', {})).status).toBe(200);
  expect((await spendAt(two[1], key, 1)).isRefused).toBe(true);
  expect(held).toBeGreaterThan(0);

  const other = await keyOf(two, 'blue');
  const id = other.split('_')[2]!;
  // A command waits until each server has learned that the key has a budget.
  expect(await two[0].run('keys', 'change', id, '--budget', '10/month')).toMatchObject({ code: 0, err: '' });
  expect((await spendAt(two[1], other, 1)).isRefused).toBe(false);
  held = 0;
  const limited = { budgets: [{ limit_credits: 0.01, window: 'month' }] };
  expect((await two[0].post(`/admin/keys/${id}`, limited, { method: 'PATCH' })).status).toBe(200);
  expect((await spendAt(two[1], other, 1)).isRefused).toBe(true);
  expect(held).toBeGreaterThan(0);
});
