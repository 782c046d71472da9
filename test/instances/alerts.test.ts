import { afterAll, beforeAll, expect, test } from 'bun:test';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { RENEW_MS } from '../../src/store/lease.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { World } from '../store/hostile/world.ts';
import { waitFor } from '../support/answers.ts';
import { startOver } from '../support/fleet.ts';
import { TOY } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';

/**
 * Two applications share one store. One application watches the budgets of both applications, and the other takes over once the first has
 * ended.
 */
const receiver = startReceiver();
const POLICY = `${TOY}budgets:
  - { name: early, match: key.labels.late != "yes", limit_credits: 1000, window: month }
  - { name: late, match: key.labels.late == "yes", limit_credits: 1000, window: month }
alerts:
  webhooks:
    ops: { url_env: OPS_URL, format: slack, allow_private_network: true }
  rules:
    - { name: early, on: budget_share, at: [0.1], budgets: [early], to: [ops] }
    - { name: late, on: budget_share, at: [0.1], budgets: [late], to: [ops] }
`;
const SOON = 50;
/** Polls and lease renewals run twenty times a second. All other timers run at their usual interval. */
const timers: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS || ms === RENEW_MS ? SOON : ms, run),
};
const world = new World();
let leader: Signalbox;
let other: Signalbox;

beforeAll(async () => {
  const options = { policy: POLICY, env: { OPS_URL: `${receiver.url}/ops` }, timers };
  leader = await startOver(world, 'a', options);
  other = await startOver(world, 'b', { ...options, env: { ...options.env, SIGNALBOX_API_KEY: leader.key } });
});
afterAll(async () => {
  await other.stop();
  receiver[Symbol.dispose]();
});

const rules = () => receiver.received.map(({ text }) => /^Signalbox, (\w+):/.exec(text)?.[1]).sort();

const spend = async (key: string) => {
  const body = { model: 'toy', messages: [{ role: 'user', content: 'one two three '.repeat(40) }] };
  const answer = await other.post('/v1/chat/completions', body, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
};

test('the leading server alerts once for a budget that another server has drawn on, and its successor also alerts once', async () => {
  const first = world.leaders.leaderOf('alerts');
  await spend(leader.key);
  await waitFor(() => rules().includes('early'));
  await leader.stop();
  await waitFor(() => (world.leaders.leaderOf('alerts')?.slot ?? first?.slot) !== first?.slot);
  const made = await other.post('/admin/keys', { name: 'app', scopes: ['chat'], labels: { late: 'yes' } });
  const { key } = (await made.json()) as { key: string };
  await spend(key);
  await waitFor(() => rules().includes('late'));
  expect(rules()).toEqual(['early', 'late']);
});
