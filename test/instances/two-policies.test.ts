import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { World } from '../store/hostile/world.ts';
import { waitFor } from '../support/answers.ts';
import { startOver } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { makeTestKey, type Signalbox, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Two servers at one database, at the door, while they have different policies in force, and when a push ends that. */
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
const budget = (name: string, credits: number) =>
  `name: ${name}, match: 'key.labels.team == "${name}"', limit_credits: ${credits}`;

/** @returns the Credits that were told until the first refusal, or so many requests */
async function spendAt(one: Signalbox, key: string, requests = 100): Promise<{ told: number; isRefused: boolean }> {
  const headers = { authorization: `Bearer ${key}` };
  const body = { model: 'best', messages: [{ role: 'user', content: 'How far is the moon?' }], max_tokens: 100 };
  let told = 0;
  for (let asked = 0; asked < requests; asked++) {
    const answer = await one.post('/v1/chat/completions', body, { headers });
    await answer.text();
    if (answer.status === 402) return { told, isRefused: true };
    expect(answer.status).toBe(200);
    told += Number(answer.headers.get('x-signalbox-credits'));
  }
  return { told, isRefused: false };
}

/** A key with a label, once both servers admit it. */
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

async function pair(world: World, ...args: string[]) {
  const folders = [writePolicy(policyOf(budget('red', 5))), writePolicy(policyOf(budget('red', 5)))];
  const start = (name: string, folder: string) =>
    startOver(world, name, {
      env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: KEY },
      args: ['--policies', folder, ...args],
    });
  return { folders, two: [await start('a', folders[0]!), await start('b', folders[1]!)] as const };
}

describe('two servers that follow their files', () => {
  let world: World;
  let stage: Awaited<ReturnType<typeof pair>>;
  beforeAll(async () => {
    world = new World();
    stage = await pair(world);
    // The other one alone gets the new policy.
    await Bun.write(join(stage.folders[1]!, 'policy.yaml'), policyOf(budget('red', 0.5), budget('blue', 0.5)));
    expect((await stage.two[1].post('/admin/policy/reload', {})).status).toBe(200);
  });
  afterAll(() => Promise.all(stage.two.map((one) => one.stop())));

  test('while two policies are in force, the newest limit of a budget holds at the server of the older one', async () => {
    const [older] = stage.two;
    const { told, isRefused } = await spendAt(older, await keyOf(stage.two, 'red'));
    expect(isRefused).toBe(true);
    expect(told).toBeGreaterThan(0.1);
    expect(told).toBeLessThanOrEqual(0.5);
  });

  test('a budget of one policy alone is enforced where that is in force, and counts what the other server charges', async () => {
    const [older, newer] = stage.two;
    const key = await keyOf(stage.two, 'blue');
    const { told, isRefused } = await spendAt(older, key, 20);
    expect(isRefused).toBe(false);
    expect(told).toBeGreaterThan(0.5);
    await waitFor(async () => (await spendAt(newer, key, 1)).isRefused);
    expect((await spendAt(older, key, 1)).isRefused).toBe(false);
  });

  test('the audit of all that both have booked finds nothing', async () => {
    const { findings } = await auditLedger(world.store.journal, { idle: true });
    // A budget counts the charges of the others a moment later.
    expect(findings.filter(({ kind }) => kind !== 'wrong_opening')).toEqual([]);
  });
});

describe('two servers that follow pushes', () => {
  let stage: Awaited<ReturnType<typeof pair>>;
  beforeAll(async () => {
    stage = await pair(new World(), '--policies-from', 'store');
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

  test('a limit and a budget that are pushed hold at both when the push is answered, with what was charged before', async () => {
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

  test('decisions name the policy by which they were made, and the price by which they were charged', async () => {
    const [a, b] = stage.two;
    const key = await keyOf(stage.two, 'green');
    const body = { model: 'best', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 20 };
    const ask = async (one: Signalbox) => {
      const answer = await one.post('/v1/chat/completions', body, { headers: { authorization: `Bearer ${key}` } });
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
    // Another policy with the same prices.
    const same = { policy: revision, price: before.price };
    expect(after).toEqual([same, same]);
    await push(policyOf(budget('red', 0.5)).replaceAll(/output: \d+/g, 'output: 777'));
    const dearer = await ask(a);
    expect([dearer.price.length, dearer.price[0] === before.price[0]]).toEqual([1, false]);
  });
});
