import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Alerts, LOOK_EVERY_MS, SEND_EVERY_MS } from '../../../src/admin/alerts/alerts.ts';
import { ALERT_OPERATIONS, AlertList } from '../../../src/admin/alerts.ts';
import { operatorAs } from '../../../src/admin/use-cases/principal.ts';
import type { AlertPolicy, AlertWebhook } from '../../../src/core/policy/alerts.ts';
import { createLog } from '../../../src/host/telemetry/log.ts';
import type { Instance, InstanceName } from '../../../src/store/instance.ts';
import { isSameInstance } from '../../../src/store/instance.ts';
import { StoreError } from '../../../src/store/store.ts';
import { SERVER } from '../../../src/store/trail.ts';
import { loneInstance } from '../../store/memory/instance.ts';
import { storeInMemory } from '../../store/memory/store.ts';
import { waitFor } from '../../support/answers.ts';
import { SimulatedHost } from '../../support/simulated-host.ts';
import { startReceiver } from './receiver.ts';
import { budget, DAY_MS, type Figures, provider, readings, START } from './support.ts';

const receiver = startReceiver();
afterAll(() => receiver[Symbol.dispose]());

const SECRET = 'a secret of 24 characters';
const variables: Record<string, string> = {
  OPS_URL: `${receiver.url}/ops/T0pS3cr3tSegment`,
  OPS_SECRET: SECRET,
  SLACK_URL: `${receiver.url}/slack`,
};
const PLACE = { file: 'p', line: 1, column: 1, length: 1 };
const OPS: AlertWebhook = {
  ...{ name: 'ops', place: PLACE, urlEnv: 'OPS_URL', secretEnv: 'OPS_SECRET' },
  ...{ format: 'signalbox', allowPrivate: true },
};
const SLACK: AlertWebhook = { ...OPS, name: 'slack', urlEnv: 'SLACK_URL', secretEnv: null, format: 'slack' };
const SHARE = { name: 'budgets', on: 'budget_share', at: [0.8], budgets: [], to: ['ops'] } as const;
const DOWN = { name: 'down', on: 'provider_down', afterMs: 0, to: ['ops'] } as const;
const POLICY: AlertPolicy = { webhooks: [OPS, SLACK], rules: [SHARE, DOWN] };
const SPENT: Figures = { budgets: [budget(0.9)] };

let time = START + DAY_MS;
let store: ReturnType<typeof storeInMemory>;
/** Servers that have ended for good. */
let gone: InstanceName[] = [];
let lines: string[] = [];
let opened: Alerts[] = [];

interface Opened {
  readonly alerts: Alerts;
  readonly host: SimulatedHost;
  readonly owner: InstanceName;
}

/** Opens the alerts of a server, whose clock the test controls. */
function open(
  figures: () => Figures,
  policy: AlertPolicy = POLICY,
  owner: InstanceName = { slot: 0, epoch: 1 },
): Opened {
  const instance: Instance = {
    ...loneInstance(() => time, owner),
    lives: async (name) => !gone.some((one) => isSameInstance(one, name)),
  };
  const host = new SimulatedHost(() => time);
  const shared = { alerts: store.alerts, commit: store.commit.bind(store), instance };
  const alerts = new Alerts({
    ...{ store: shared, policy: () => policy, readings: () => readings(figures()), timers: host.timers, log },
    ...{ env: (name: string) => variables[name], now: () => time, timeoutMs: 2_000 },
  });
  opened.push(alerts);
  return { alerts, host, owner };
}

const log = createLog({ write: (text) => void lines.push(...text.trim().split('\n')), pretty: false, now: () => time });
/** Returns the log lines that contain a text. */
function logged(text: string): readonly string[] {
  log.flush();
  return lines.filter((line) => line.includes(text));
}

/** Moves the clock forward second by second and runs the timers of these servers. */
async function pass(ms: number, ...instances: readonly Opened[]): Promise<void> {
  for (const end = time + ms; time < end; ) {
    time += SEND_EVERY_MS;
    for (const { host } of instances) host.run();
    for (const { alerts } of instances) await alerts.idle();
  }
}

/** Opens the alerts of a server and starts to check and send. */
const begun = (...terms: Parameters<typeof open>): Opened => {
  const one = open(...terms);
  one.alerts.begin();
  return one;
};

beforeEach(() => {
  time = START + DAY_MS;
  store = storeInMemory();
  [gone, lines, opened] = [[], [], []];
  receiver.received.length = 0;
  receiver.statuses.clear();
});
afterEach(async () => {
  for (const alerts of opened) await alerts.close();
});

/** Returns the answer of `GET /admin/alerts`. */
async function statusOf(): Promise<Static<typeof AlertList>> {
  const services = {
    alerts: { list: store.alerts.list, test: async () => [] },
    alertPolicy: () => POLICY,
    alertPolicyIfValid: () => POLICY,
    usdPerCredit: () => null,
  };
  const call = { by: operatorAs(SERVER), now: time, id: '', credentials: null, tags: null };
  const list = ALERT_OPERATIONS.find(({ name }) => name === 'alerts list');
  return Value.Parse(AlertList, (await list!.perform(services, call, {})).body);
}

const texts = () => receiver.received.map(({ text }) => text);

describe('an alert', () => {
  test('an alert is sent at most half a minute after the event', async () => {
    let figures: Figures = {};
    const one = begun(() => figures);
    await pass(DAY_MS / 24, one);
    expect(receiver.received).toEqual([]);
    figures = SPENT;
    await pass(4 * 30_000, one);
    expect(texts()).toEqual([
      'Signalbox, budgets: Budget “month of search” has spent 90 % of its 1 Credit; the budget renews at 2026-12-01 00:00 UTC.',
    ]);
    const [due] = await store.alerts.list({ before: null, limit: 1 });
    expect(due!.time - (START + DAY_MS + DAY_MS / 24)).toBeLessThanOrEqual(LOOK_EVERY_MS);
    await pass(DAY_MS / 4, one);
    expect(receiver.received).toHaveLength(1);
  });

  test('an alert is tried five times over six minutes with the same ID, and then shown as failed', async () => {
    receiver.statuses.set('/ops/T0pS3cr3tSegment', [500, 503, 404, 429, 500]);
    const one = begun(() => SPENT);
    const began = time;
    await pass(30_000, one);
    expect(await statusOf()).toMatchObject({
      webhooks: [
        { name: 'ops', state: 'failing', problem: 'the webhook answered with status 404' },
        { state: 'untried' },
      ],
      data: [{ deliveries: [{ state: 'waiting', tries: 3, problem: 'the webhook answered with status 404' }] }],
    });
    await pass(DAY_MS / 24, one);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(receiver.received).toHaveLength(5);
    const { data, webhooks } = await statusOf();
    const [delivery] = data[0]!.deliveries;
    expect(delivery).toMatchObject({
      state: 'failed',
      tries: 5,
      problem: 'the webhook answered with status 500',
      next_try_at: null,
    });
    expect(Date.parse(delivery!.tried_at!) - began).toBeLessThan(4 * 360_000);
    expect(webhooks[0]).toMatchObject({ state: 'failing', last_sent_at: null });
    expect(logged('an alert could not be sent')).toHaveLength(1);
    const counted = one.alerts.counts.families.flatMap((family) => [...family.samples()]);
    expect(counted.map(([{ outcome }, tries]) => [outcome, tries])).toEqual([
      ...[
        ['sent', 0],
        ['retried', 4],
        ['failed', 1],
      ],
      ...[
        ['sent', 0],
        ['retried', 0],
        ['failed', 0],
      ],
    ]);
  });

  test('an alert that arrives at the second try is not sent again', async () => {
    receiver.statuses.set('/ops/T0pS3cr3tSegment', [500]);
    const one = begun(() => SPENT);
    await pass(DAY_MS / 24, one);
    expect(receiver.received).toHaveLength(2);
    expect(await statusOf()).toMatchObject({ webhooks: [{ state: 'ok', problem: null }, {}] });
  });

  test('an alert is sent to each webhook of its rule, in the format of the webhook', async () => {
    const one = begun(() => ({ budgets: [budget(0.9, { subject: 'team_7', called: 'R&D <a>' })] }), {
      webhooks: [OPS, SLACK],
      rules: [{ ...SHARE, to: ['ops', 'slack'] }],
    });
    await pass(15_000, one);
    const [ops, slack] = receiver.received.sort((a, b) => (a.path < b.path ? -1 : 1));
    expect(slack!.body).toBe(
      '{"text":"Signalbox, budgets: Budget “month of R&amp;D &lt;a&gt;” has spent 90 % of its 1 Credit; the budget renews at 2026-12-01 00:00 UTC."}',
    );
    expect(slack!.headers.get('signalbox-signature')).toBeNull();
    expect(JSON.parse(ops!.body)).toEqual({
      ...{ id: expect.stringMatching(/^alert_/), type: 'alert', time: new Date(time).toISOString() },
      ...{ rule: 'budgets', on: 'budget_share', text: expect.stringContaining('R&D <a>'), more: 0 },
      subjects: [
        {
          ...{
            budget: 'month',
            subject: 'team_7',
            subject_name: 'R&D <a>',
            spent_credits: 0.9,
            spent_usd: null,
            limit_usd: null,
            limit_credits: 1,
            at: 0.8,
          },
          ...{ window_starts: '2026-11-01T00:00:00.000Z', window_ends: '2026-12-01T00:00:00.000Z' },
        },
      ],
    });
  });

  test('an alert names twenty subjects and counts the rest', async () => {
    const budgets = Array.from({ length: 200 }, (_, at) => budget(0.9, { subject: `key ${at}` }));
    const one = begun(() => ({ budgets }));
    await pass(DAY_MS / 24, one);
    expect(receiver.received).toHaveLength(1);
    const { subjects, more, text } = JSON.parse(receiver.received[0]!.body);
    expect([subjects.length, more, text.split('\n').length, text.endsWith('\n• and 180 more')]).toEqual([
      20,
      180,
      22,
      true,
    ]);
  });
});

describe('a webhook', () => {
  const failing = async (webhook: Partial<AlertWebhook>) => {
    const one = begun(() => SPENT, { ...POLICY, webhooks: [{ ...OPS, ...webhook }] });
    await pass(15_000, one);
    const [message] = await store.alerts.list({ before: null, limit: 1 });
    return message!.deliveries[0]!.problem;
  };

  test('a webhook that redirects receives nothing at the new address', async () => {
    receiver.statuses.set('/ops/T0pS3cr3tSegment', [307]);
    expect(await failing({})).toBe('the webhook answered with status 307, and redirects are not followed');
    expect(receiver.received.map(({ path }) => path)).toEqual(['/ops/T0pS3cr3tSegment']);
  });

  test('a webhook at a private address receives nothing unless the policy allows it', async () => {
    expect(await failing({ allowPrivate: false })).toBe(
      '`127.0.0.1` points to a private address, which is not allowed: set `allow_private_network` of the webhook to allow this address',
    );
    expect(receiver.received).toEqual([]);
  });

  test('a webhook whose variable is not set, or that the policy no longer has, is shown with the reason', async () => {
    expect(await failing({ urlEnv: 'NOT_SET' })).toBe('the variable `NOT_SET` is not set');
    store = storeInMemory();
    expect(await failing({ name: 'other' })).toBe('the policy no longer has a webhook with this name');
  });

  test('the address and the secret of a webhook are never shown', async () => {
    receiver.statuses.set('/ops/T0pS3cr3tSegment', [500, 500, 500, 500, 500]);
    await failing({});
    const shown = `${logged('').join('\n')}${JSON.stringify(await statusOf())}`;
    expect([shown.includes('T0pS3cr3tSegment'), shown.includes(SECRET)]).toEqual([false, false]);
  });
});

describe('servers that share a store', () => {
  const OTHER = { slot: 1, epoch: 1 };

  test('servers that share a store send an alert only once', async () => {
    const [one, other] = [begun(() => SPENT), begun(() => SPENT, POLICY, OTHER)];
    await pass(DAY_MS / 24, one, other);
    expect(receiver.received).toHaveLength(1);
  });

  test('the end of an outage is decided by the server that reported the outage', async () => {
    let seen = provider({ downSince: time, shut: 2 });
    const [one, other] = [
      begun(() => ({ providers: [seen] })),
      begun(() => ({ providers: [provider({ isUp: true })] }), POLICY, OTHER),
    ];
    await pass(DAY_MS / 24, one, other);
    expect(texts()).toHaveLength(1);
    seen = provider({ isUp: true });
    await pass(60_000, one, other);
    expect(texts().at(-1)).toContain('answers again');
    expect(texts()).toHaveLength(2);
  });

  test('a server sends the alerts of a server that has ended, and continues to count its tries', async () => {
    receiver.statuses.set('/ops/T0pS3cr3tSegment', [500, 500]);
    const one = begun(() => SPENT);
    await pass(20_000, one);
    expect(receiver.received).toHaveLength(2);
    await one.alerts.close();
    const other = begun(() => SPENT, POLICY, OTHER);
    await pass(120_000, other);
    expect(receiver.received).toHaveLength(2);
    gone = [one.owner];
    await pass(120_000, other);
    expect(receiver.received).toHaveLength(3);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  });
});

test('after a restart, a server sends no alert again and remembers lasting problems', async () => {
  const down: Figures = { ...SPENT, providers: [provider({ downSince: time, shut: 2 })] };
  const before = begun(() => down);
  await pass(60_000, before);
  expect(texts()).toHaveLength(2);
  await before.alerts.close();
  gone = [before.owner];
  // The new run does not know the state of the provider before its first attempt.
  let figures: Figures = { ...SPENT, providers: [provider()] };
  const after = begun(() => figures, POLICY, { slot: 0, epoch: 2 });
  await pass(DAY_MS / 24, after);
  expect(texts()).toHaveLength(2);
  figures = { ...SPENT, providers: [provider({ isUp: true })] };
  await pass(60_000, after);
  expect(texts().at(-1)).toContain('answers again');
  expect(texts()).toHaveLength(3);
});

test('while the store is unavailable no alert is sent twice, and later no alert is lost', async () => {
  const one = begun(() => SPENT);
  store.fault = new StoreError('the disk is full', { reason: 'full' });
  await pass(60_000, one);
  expect(receiver.received).toEqual([]);
  expect(logged('alert rules could not be checked')).toHaveLength(1);
  store.fault = null;
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.hold = promise;
  const sending = pass(15_000, one);
  await waitFor(() => receiver.received.length === 1);
  store.fault = new StoreError('the disk is full', { reason: 'full' });
  resolve();
  await sending;
  await pass(60_000, one);
  store.fault = null;
  await pass(60_000, one);
  expect(receiver.received).toHaveLength(1);
  expect(await statusOf()).toMatchObject({ data: [{ deliveries: [{ state: 'sent', tries: 1 }] }] });
});

test('an alert is sent once if its commit was reported as failed but was written', async () => {
  const one = begun(() => SPENT);
  const { commit } = store;
  store.commit = async (writes) => {
    await commit.call(store, writes);
    store.commit = commit;
    throw new StoreError('the answer was lost', { reason: 'unknown' });
  };
  await pass(DAY_MS / 24, one);
  expect(receiver.received).toHaveLength(1);
  expect(await statusOf()).toMatchObject({ data: [{ deliveries: [{ state: 'sent' }] }] });
});

test('a test message is sent once to each webhook, and is listed', async () => {
  receiver.statuses.set('/slack', [500]);
  const { alerts } = open(() => ({}));
  expect(await alerts.test([OPS, SLACK])).toEqual([
    { webhook: 'ops', problem: null },
    { webhook: 'slack', problem: 'the webhook answered with status 500' },
  ]);
  expect(texts().sort()).toEqual(Array(2).fill('Signalbox: This is a test. Alerts of Signalbox arrive here.'));
  expect(await statusOf()).toMatchObject({
    data: [{ type: 'test' }],
    webhooks: [{ state: 'ok' }, { state: 'failing' }],
  });
});
