import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { LOOK_EVERY_MS } from '../../src/admin/alerts/alerts.ts';
import { LedgerStatus } from '../../src/admin/ledger.ts';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { startReceiver } from '../admin/alerts/receiver.ts';
import { type Gate, startGate } from '../gateway/money/gate.ts';
import { makeKeys } from '../gateway/money/keys.ts';
import { asWorst, hello, pursePolicy } from '../gateway/money/purse.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey, writePolicy } from '../support/signalbox.ts';

/** Budgets that pay for no request although they are not used up: too little is left, or the limit is too low. */
const receiver = startReceiver();
let gate: Gate;
let box: Signalbox;

/** Checks of alerts run twenty times a second; all other timers have their normal intervals. */
const quick: Timers = {
  after: processTimers.after,
  every: (ms, run) => processTimers.every(ms === LOOK_EVERY_MS ? 50 : ms, run),
};

beforeAll(async () => {
  gate = startGate({ usageOf: asWorst });
  gate.open();
  const policy = `${pursePolicy(gate.url, 200)}budgets:
  - { name: capped, each: key, match: 'key.labels.kind == "capped"', limit_usd: 0.0005, window: day, on_exhausted: cap, alert_at: [1] }
alerts:
  webhooks:
    ops: { url_env: OPS_URL, secret_env: OPS_SECRET, allow_private_network: true }
  rules:
    - { name: full, on: budget_share, at: [1], to: [ops] }
`;
  const env = { ...UPSTREAM_ENV, OPS_URL: receiver.url, OPS_SECRET: 'a secret of 24 characters' };
  box = await startSignalbox({ env, timers: quick, args: ['--policies', writePolicy(policy)] });
});
afterAll(async () => {
  await box.stop();
  await gate.stop();
  receiver[Symbol.dispose]();
});

describe('a `cap` budget that has too little left for any request', () => {
  const usable = async () => {
    const [key] = await makeKeys(box, [{ kind: 'capped' }]);
    const ask = (more = {}) =>
      box.post('/v1/chat/completions', { model: 'best', messages: hello, ...more }, withKey(key!.key));
    const fund = async () => {
      const { funds } = Value.Parse(LedgerStatus, await (await box.get('/admin/ledger')).json());
      return funds.find(({ subject }) => subject === key!.id);
    };
    return { key: key!, ask, fund };
  };

  test('the ledger, the log and the alert at 1 say so at the first 402, in Credits and USD', async () => {
    const { key, ask, fund } = await usable();
    expect((await ask()).status).toBe(200);
    expect(await fund()).toMatchObject({ spent_credits: 0.498, refuses_since: null });
    const { message, details } = await expectError(await ask(), 'insufficient_quota');
    expect(message).toContain(' has spent 0.498 of its 0.5 Credits (0.000498 of 0.0005 USD).');
    expect(message).toContain('This request needs 0.442 Credits (0.000442 USD)');
    expect(details).toMatchObject({ needed_credits: 0.442, needed_usd: '0.000442', limit_usd: '0.0005' });
    expect(await fund()).toMatchObject({ runs_out_at: null, refuses_since: expect.any(String) });
    await waitFor(() => receiver.received.length > 0);
    const [{ body } = { body: '' }] = receiver.received;
    expect(JSON.parse(body)).toMatchObject({
      rule: 'full',
      subjects: [{ budget: 'capped', subject: key.id, at: 1, spent_usd: '0.000498', limit_usd: '0.0005' }],
    });
    expect(JSON.parse(body).text).toContain(
      'refuses requests: it has 0.002 Credits (0.000002 USD) left of 0.5 Credits (0.0005 USD), and a request needs 0.44 Credits (0.00044 USD)',
    );
    const logged = box.lines.filter((line) => line.includes('a budget has reached an alert threshold'));
    expect(logged).toEqual([expect.stringContaining('"share":1,"spent_credits":0.498,"spent_usd":"0.000498"')]);
    const { out } = await box.run('ledger', 'status');
    expect(out).toContain('REFUSES SINCE');
  });

  test('a budget that pays for a smaller request no longer counts as refusing', async () => {
    const { ask, fund } = await usable();
    expect((await ask({ max_tokens: 50 })).status).toBe(200);
    await expectError(await ask(), 'insufficient_quota');
    const first = (await fund())?.refuses_since;
    expect(first).toEqual(expect.any(String));
    await expectError(await ask(), 'insufficient_quota');
    expect((await fund())?.refuses_since).toBe(first!);
    expect((await ask({ max_tokens: 5 })).status).toBe(200);
    expect(await fund()).toMatchObject({ refuses_since: null });
  });

  test('a request that costs more than the whole budget does not make a budget count as refusing', async () => {
    const { ask, fund } = await usable();
    expect((await ask({ max_tokens: 5 })).status).toBe(200);
    const long = [{ role: 'user', content: 'Say hello. '.repeat(200) }];
    await expectError(await ask({ messages: long, max_tokens: 5 }), 'request_exceeds_budget');
    expect(await fund()).toMatchObject({ refuses_since: null });
  });
});

test('a budget whose limit is lower than the cost of a short request says what a request needs, and comes before budgets that last', async () => {
  const made = async (name: string, credits: number): Promise<string> => {
    const answer = await box.post('/admin/keys', { name, budgets: [{ limit_credits: credits, window: 'month' }] });
    const { id }: { readonly id: string } = JSON.parse(await answer.text());
    return id;
  };
  const [low, enough] = [await made('low', 0.000001), await made('enough', 100)];
  const { funds } = Value.Parse(LedgerStatus, await (await box.get('/admin/ledger')).json());
  const own = funds.filter(({ subject }) => subject === low || subject === enough);
  expect(own).toMatchObject([
    {
      subject: low,
      runs_out_at: null,
      least_request_credits: expect.any(Number),
      least_request_usd: expect.any(String),
    },
    { subject: enough, least_request_credits: null, least_request_usd: null },
  ]);
  expect((await box.run('ledger', 'status')).out).toContain('LEAST REQUEST');
});

test('a share of a key in a budget of the policy says that its subject is a key', async () => {
  const { funds } = Value.Parse(LedgerStatus, await (await box.get('/admin/ledger')).json());
  const shares = funds.filter(({ name, subject }) => name === 'capped' && subject !== '');
  expect(shares.length).toBeGreaterThan(0);
  for (const share of shares) expect(share).toMatchObject({ holder: null, subject_kind: 'key' });
});
