import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { StoreError } from '../../src/store/store.ts';
import { seedOf } from '../deep/effort.ts';
import { SLOW } from '../store/hostile/faults.ts';
import { World } from '../store/hostile/world.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';

/** The tests must pass on any store, with a single application and with two applications that share the store. */
const STORES: Readonly<Record<string, { readonly world: () => World; readonly count: number }>> = {
  'in memory': { world: () => new World(), count: 1 },
  'on the hostile store': { world: () => new World({ faults: SLOW, seed: seedOf('hostile e2e') }), count: 1 },
  'on the hostile store, two applications': {
    world: () => new World({ faults: SLOW, seed: seedOf('hostile e2e') }),
    count: 2,
  },
};

interface Body {
  readonly error?: { readonly code: string };
}

const QUESTION = { model: 'best', messages: [{ role: 'user', content: 'How far is the moon?' }], max_tokens: 100 };
const CHAT = '/v1/chat/completions';

for (const [where, { world, count }] of Object.entries(STORES))
  describe(`the application ${where}`, () => {
    let upstream: ReturnType<typeof startFakeUpstream>;
    let fleet: Fleet;
    beforeAll(async () => {
      upstream = startFakeUpstream({ key: UPSTREAM_KEY });
      const models = { best: { endpoints: ['fake'] } };
      const policy = testPolicy({ fake: upstream.url }, models);
      fleet = await startFleet(world(), count, { policy, env: UPSTREAM_ENV });
    });
    afterAll(async () => {
      await fleet.stop();
      await upstream.stop();
    });
    suite(
      () => fleet,
      () => upstream,
    );
  });

async function ask(fleet: Fleet, key: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const init = { headers: { authorization: `Bearer ${key}`, ...headers } };
  const response = await (body ? fleet.post(path, body, init) : fleet.get(path, init));
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

function suite(open: () => Fleet, upstreamOf: () => ReturnType<typeof startFakeUpstream>): void {
  test('a new key gets an answer to its chat, the chat is metered, and the key’s usage and decision agree', async () => {
    const fleet = open();
    const key = await fleet.makeKey();
    const answer = await ask(fleet, key, CHAT, QUESTION);
    expect(answer.status).toBe(200);
    const credits = Number(answer.headers.get('x-signalbox-credits'));
    expect(credits).toBeGreaterThan(0);
    const usage = await ask(fleet, key, '/v1/usage');
    expect(usage.body).toMatchObject({ total_credits: credits, days: [{ model: 'best', charges: 1, credits }] });
    const decision = await ask(fleet, key, `/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`);
    expect(decision.status).toBe(200);
    expect(decision.body).toMatchObject({ receipt: { credits_consumed: credits }, replay: { matches: true } });
  });

  test('the budget of a key refuses requests that it cannot pay', async () => {
    const key = await open().makeKey({ budgets: [{ limit_credits: 0.001, window: 'day' }] });
    const { status, body } = await ask(open(), key, CHAT, QUESTION);
    expect([status, body.error?.code]).toEqual([402, 'request_exceeds_budget']);
  });

  test('a repeat with the same Idempotency-Key gets the stored answer, and is charged once', async () => {
    const key = await open().makeKey();
    const again = { 'idempotency-key': 'once' };
    const first = await ask(open(), key, CHAT, QUESTION, again);
    const second = await ask(open(), key, CHAT, QUESTION, again);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('x-signalbox-replayed')).toBe('true');
    expect((await ask(open(), key, '/v1/usage')).body).toMatchObject({ days: [{ charges: 1 }] });
  });

  test('if the store refuses a hold, the server sends no request to a provider', async () => {
    const { world, makeKey } = open();
    const key = await makeKey();
    const before = upstreamOf().requests.length;
    world.store.fault = new StoreError('no room', { reason: 'full' });
    const { status } = await ask(open(), key, CHAT, QUESTION);
    world.store.fault = null;
    expect(status).toBe(503);
    expect(upstreamOf().requests.length).toBe(before);
    expect((await ask(open(), key, CHAT, QUESTION)).status).toBe(200);
  });

  test('a score of an answer counts once', async () => {
    const key = await open().makeKey();
    const answer = await ask(open(), key, CHAT, QUESTION);
    const score = { decision_id: answer.headers.get('x-signalbox-decision-id'), score: 0.25 };
    expect((await ask(open(), key, '/v1/feedback', score)).body).toMatchObject({ result: 'learnt', model: 'best' });
    expect((await ask(open(), key, '/v1/feedback', score)).body).toMatchObject({ result: 'repeated' });
  });

  test('the audit of all bookings finds no mistake', async () => {
    const store: OpenStore = open().world.store;
    const { findings, totals } = await auditLedger(store.journal, { idle: true });
    expect(findings).toEqual([]);
    expect(totals.entries).toBeGreaterThan(5);
  });
}
