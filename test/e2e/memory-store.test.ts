import { afterAll, beforeAll, expect, test } from 'bun:test';
import { shipped } from '../../plugins/index.ts';
import { Idempotency } from '../../src/access/idempotency/idempotency.ts';
import { openKeys } from '../../src/access/keys.ts';
import { ByteRoom } from '../../src/core/byte-room.ts';
import { createIds } from '../../src/core/id.ts';
import { LinkedSet } from '../../src/core/linked-set.ts';
import { createApp } from '../../src/http/app.ts';
import type { X402Gateway } from '../../src/http/x402/services.ts';
import { openLearner } from '../../src/learning/open.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { keyBudgets } from '../../src/ledger/key-budgets.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { x402Funding } from '../../src/money/x402/funding.ts';
import { openPayments } from '../../src/payments/service.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { Affinity } from '../../src/prompt/affinity.ts';
import { Sessions } from '../../src/prompt/sessions.ts';
import { Threads } from '../../src/prompt/threads.ts';
import { openRecords } from '../../src/records/records.ts';
import { CountPlaces } from '../../src/request/count-places.ts';
import { buildRuntime } from '../../src/runtime/runtime.ts';
import { hashOf } from '../../src/runtime/source.ts';
import { StoreError } from '../../src/store/store.ts';
import { openaiChat } from '../../src/surface/openai-chat/surface.ts';
import { MemoryDriver } from '../store/memory/driver.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { unobserved } from '../support/observer.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';

/** The application over a store without a disk: keys, books, records, answers and outcomes are in memory, everything else is real. */
let upstream: ReturnType<typeof startFakeUpstream>;
let served: Awaited<ReturnType<typeof serveInMemory>>;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  served = await serveInMemory(upstream.url);
});
afterAll(async () => {
  await served.stop();
  await upstream.stop();
});

/** What these tests read of answers. */
interface Body {
  readonly key?: string;
  readonly error?: { readonly code: string };
}

async function serveInMemory(url: string) {
  const store = await new MemoryDriver().open('memory:');
  const registry = createRegistry(shipped);
  const env = (name: string): string | undefined => (name in UPSTREAM_ENV ? UPSTREAM_KEY : undefined);
  const text = testPolicy({ fake: url }, { best: { endpoints: ['fake'] } }, 'learning: { mode: on }\n');
  const { snapshot } = loadPolicy([{ path: 'policy.yaml', text }], {
    env: { get: env },
    ...registry,
    revisionOf: hashOf,
  });
  const runtime = buildRuntime(snapshot!, registry, env);
  const lease = () => runtime;
  const now = Date.now;
  const clock = () => performance.now();
  const write = () => {};
  const log = { info: write, warn: write, error: write };
  let recount = async () => {};
  const keys = await openKeys({ store, now, onChange: () => recount() });
  const terms = () => ({ ...snapshot!, budgets: [...snapshot!.budgets, ...keyBudgets(keys.budgets())] });
  const books = await store.openBooks(now);
  const ledger = await openLedger({ books, terms: terms(), now, onAlarm: write });
  recount = async () => (await ledger.prepare(terms()))();
  const records = openRecords({ store, tables: store.records, now });
  const { revision, models } = snapshot!;
  await records.saveRevision({ revision, source: '[]', models: models.map(({ id }) => id), surroundings: null });
  const nextId = createIds(now, 0);
  const deposit = ledger.deposit.bind(ledger);
  const payments = await openPayments({ store, now, nextId, env, deposit, log });
  const learner = await openLearner({ store, now, nextId });
  const funded = { lease, leaseOf: lease, ledger, payments, keys, log, now };
  const gateway: X402Gateway = {
    ...funded,
    funding: x402Funding(funded),
    records,
    learner,
    affinity: new Affinity(clock),
    threads: new Threads(store, now),
    sessions: new Sessions(clock),
    counter: { count: async () => null },
    countPlaces: new CountPlaces(),
    past: { find: async () => runtime },
    nextId,
    clock,
    inFlight: new LinkedSet(),
    answers: new ByteRoom(),
    isDraining: false,
  };
  const never = () => {
    throw new Error('not asked for here');
  };
  const giveBack = ledger.giveBack.bind(ledger);
  const isOpen = ledger.isOpen.bind(ledger);
  const app = createApp({
    surfaces: [openaiChat],
    gateway,
    policy: { lease, status: never, reload: never },
    keys,
    idempotency: new Idempotency({ store, instance: store.instance, now, isOpen, giveBack }),
    store,
    authenticate: (header) => keys.authenticate(header),
    version: 'test',
    ...unobserved(gateway),
  });
  app.listen({ port: 0, hostname: '127.0.0.1' });
  return {
    store,
    admin: (await keys.create({ name: 'admin', scopes: ['admin'] })).key,
    async ask(path: string, key: string, body?: object, headers: Record<string, string> = {}) {
      const init = body && { method: 'POST', body: JSON.stringify(body) };
      const sent = { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers };
      const response = await fetch(`http://127.0.0.1:${app.server?.port}${path}`, { ...init, headers: sent });
      return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
    },
    async stop() {
      await app.stop(true);
      payments.close();
      keys.close();
      await learner.close();
      await ledger.close();
    },
  };
}

const QUESTION = { model: 'best', messages: [{ role: 'user', content: 'How far is the moon?' }], max_tokens: 100 };
const CHAT = '/v1/chat/completions';

const makeKey = async (more: object) => {
  const { status, body } = await served.ask('/admin/keys', served.admin, { name: 'app', scopes: ['chat'], ...more });
  expect(status).toBe(200);
  return body.key ?? '';
};

test('a key is made, and its chat answered and metered: its usage and decision say the same', async () => {
  const key = await makeKey({});
  const answer = await served.ask(CHAT, key, QUESTION);
  expect(answer.status).toBe(200);
  const credits = Number(answer.headers.get('x-signalbox-credits'));
  expect(credits).toBeGreaterThan(0);
  const usage = await served.ask('/v1/usage', key);
  expect(usage.body).toMatchObject({ total_credits: credits, days: [{ model: 'best', charges: 1, credits }] });
  const decision = await served.ask(`/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`, key);
  expect(decision.status).toBe(200);
  expect(decision.body).toMatchObject({ receipt: { credits_consumed: credits }, replay: { matches: true } });
});

test('a budget of a key refuses what it cannot pay', async () => {
  const key = await makeKey({ budgets: [{ limit_credits: 0.001, window: 'day' }] });
  const { status, body } = await served.ask(CHAT, key, QUESTION);
  expect([status, body.error?.code]).toEqual([402, 'request_exceeds_budget']);
});

test('an answer that is asked for again by its idempotency key is repeated, and charged once', async () => {
  const key = await makeKey({});
  const again = { 'idempotency-key': 'once' };
  const first = await served.ask(CHAT, key, QUESTION, again);
  const second = await served.ask(CHAT, key, QUESTION, again);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('x-signalbox-replayed')).toBe('true');
  expect((await served.ask('/v1/usage', key)).body).toMatchObject({ days: [{ charges: 1 }] });
});

test('where the store refuses, no request is sent to a provider', async () => {
  const key = await makeKey({});
  const before = upstream.requests.length;
  served.store.fault = new StoreError('no room', { reason: 'full' });
  const { status } = await served.ask(CHAT, key, QUESTION);
  served.store.fault = null;
  expect(status).toBe(503);
  expect(upstream.requests.length).toBe(before);
  expect((await served.ask(CHAT, key, QUESTION)).status).toBe(200);
});

test('a score of an answer is learnt once, and outlives its learner', async () => {
  const key = await makeKey({});
  const answer = await served.ask(CHAT, key, QUESTION);
  const score = { decision_id: answer.headers.get('x-signalbox-decision-id'), score: 0.25 };
  expect((await served.ask('/v1/feedback', key, score)).body).toMatchObject({ result: 'learnt', model: 'best' });
  expect((await served.ask('/v1/feedback', key, score)).body).toMatchObject({ result: 'repeated' });
  const { brier } = (await openLearner({ store: served.store, now: Date.now, nextId: () => 0 })).activity;
  expect(brier.declared).toBeGreaterThan(0);
});

test('the audit of all that was booked finds nothing', async () => {
  const { findings, totals } = await auditLedger(served.store.journal, { idle: true });
  expect(findings).toEqual([]);
  expect(totals.entries).toBeGreaterThan(5);
});
