import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type { Static } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Decision } from '../../src/admin/decision.ts';
import { World } from '../store/hostile/world.ts';
import { eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { startOver } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { strict } from '../support/strict-schema.ts';
import { useUpstream } from '../support/use.ts';
import { audit } from './ledger-support.ts';

/** Decisions whose requests are still running. A client gets the ID of a decision before there is a record. */
type DecisionBody = Static<typeof Decision>;

const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Say hello.' }];
const upstream = useUpstream();
const folder = temporaryFolder();
const check = TypeCompiler.Compile(strict(Decision));
let policy: string;
let box: Signalbox;
let other: string;
let reporter: string;

beforeAll(async () => {
  const models = { best: { endpoints: ['fake'], quality: 0.9 }, plain: { endpoints: ['fake'], quality: 0.5 } };
  policy = testPolicy({ fake: upstream.url }, models, 'records: { content: {} }\n');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  other = await box.makeKey('--scope', 'chat');
  reporter = await box.makeKey('--scope', 'report');
});
afterAll(async () => {
  await box.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A stream that has sent its first words, and sends no more. */
async function hungStream(of = box, key = of.key) {
  const caller = new AbortController();
  upstream.next({ text: ['a ', 'b '], hang: 2 });
  const headers = withKey(key);
  const sent = { model: 'auto', messages, stream: true };
  const response = await of.post(CHAT, sent, { ...headers, signal: caller.signal });
  return { id: response.headers.get('x-signalbox-decision-id')!, response, leave: () => caller.abort() };
}

async function read(id: string, of = box, key = of.key): Promise<DecisionBody> {
  const response = await of.get(`/v1/decisions/${id}`, withKey(key));
  const body: unknown = await response.json();
  expect([response.status, body]).toEqual([200, expect.anything()]);
  expect([...check.Errors(body)]).toEqual([]);
  return body as DecisionBody;
}

/** Reads a decision until its request has ended. The decision is found each time. */
const ended = (id: string, of = box): Promise<DecisionBody> =>
  waitFor(async () => {
    const body = await read(id, of);
    return body.status === 'running' ? null : body;
  });

/** Returns the ID of the only request that holds money. */
async function openDecision(): Promise<string> {
  const { open_reservations: open } = (await audit(box.data)).body;
  expect(open).toHaveLength(1);
  return open[0]!.decision;
}

/** The members that differ between a running decision and its record. */
const atTheEnd = ({ status, created, time, outcome, receipt, sentences, ...same }: DecisionBody) => ({
  end: { status, outcome, receipt },
  same,
});

describe('a running decision', () => {
  test('a running decision is explained from the headers of its stream on, in the same way as later from its record', async () => {
    // After some time decisions use measured speeds, which their records refer to.
    await waitFor(async () => {
      upstream.next({ text: ['a ', 'b '], firstChunkAfterMs: 20 });
      const response = await box.post(CHAT, { model: 'best', messages, stream: true });
      await response.text();
      return (await read(response.headers.get('x-signalbox-decision-id')!)).readings.frame;
    });
    const { id, leave } = await hungStream();
    const running = await read(id);
    expect(atTheEnd(running).end).toEqual({ status: 'running', outcome: null, receipt: null });
    expect(running).toMatchObject({ kind: 'chat', choice: 'best', replay: { matches: true } });
    expect(running.readings.frame).toBeGreaterThan(0);
    leave();
    const record = await ended(id);
    expect(record).toMatchObject({ status: 'abandoned', outcome: { status: 'abandoned' } });
    expect(record.receipt?.decision_id).toBe(id);
    expect(atTheEnd(record).same).toEqual(atTheEnd(running).same);
  });

  test('a running decision is found at each moment until its answer is complete, and afterwards', async () => {
    upstream.next({ text: ['a ', 'b ', 'c ', 'd '], betweenChunksMs: 40 });
    const response = await box.post(CHAT, { model: 'best', messages, stream: true });
    const id = response.headers.get('x-signalbox-decision-id')!;
    const last = ended(id);
    expect((await eventsOf(response)).done).toBe(true);
    // The client has the whole answer.
    expect(await read(id)).toMatchObject({ status: 'completed', outcome: { status: 'completed' } });
    expect(await last).toMatchObject({ status: 'completed' });
  });

  test('while a JSON answer is awaited, its decision is found by the ID in the ledger', async () => {
    const caller = new AbortController();
    const before = upstream.requests.length;
    upstream.next({ hang: 'headers' });
    const answer = box.post(CHAT, { model: 'best', messages }, { signal: caller.signal }).catch(() => null);
    await waitFor(() => upstream.requests.length > before);
    const id = await openDecision();
    expect(await read(id)).toMatchObject({ status: 'running', choice: 'best', outcome: null });
    caller.abort();
    await answer;
    expect(await ended(id)).toMatchObject({ status: 'abandoned' });
  });

  test('the decision of a request with an Idempotency-Key continues after its caller has disconnected', async () => {
    const caller = new AbortController();
    const before = upstream.requests.length;
    upstream.next({ headersAfterMs: 1_500, text: 'Hello.' });
    const headers = { authorization: `Bearer ${box.key}`, 'idempotency-key': 'left' };
    const answer = box.post(CHAT, { model: 'best', messages }, { headers, signal: caller.signal }).catch(() => null);
    await waitFor(() => upstream.requests.length > before);
    const id = await openDecision();
    caller.abort();
    await answer;
    expect(await ended(id)).toMatchObject({ status: 'completed' });
  });

  test('a running decision is shown to the same callers as its record', async () => {
    const { id, leave } = await hungStream(box, other);
    expect((await read(id, box, other)).status).toBe('running');
    expect((await read(id)).status).toBe('running');
    const reported = await read(id, box, reporter);
    expect(reported).toMatchObject({ status: 'running', key_id: null, candidates: null, replay: { matches: null } });
    const stranger = await box.makeKey('--scope', 'chat');
    await expectError(await box.get(`/v1/decisions/${id}`, withKey(stranger)), 'not_found');
    leave();
    await ended(id);
  });

  test('a running decision has an open hold, can be decided again, has no text, and is not in lists', async () => {
    const { id, leave } = await hungStream();
    const money = await (await box.get(`/admin/decisions/${id}/money`)).json();
    expect(money).toMatchObject({ decision_id: id, state: 'open', sums: { charged: { credits: 0 } } });
    expect(await (await box.get(`/admin/decisions/${id}/repeat`)).json()).toMatchObject({ recorded_choice: 'best' });
    await expectError(await box.get(`/admin/decisions/${id}/content`), 'not_found');
    const listed = async () => JSON.stringify(await (await box.get('/admin/decisions')).json()).includes(id);
    expect(await listed()).toBe(false);
    leave();
    await ended(id);
    expect(await listed()).toBe(true);
    expect((await box.get(`/admin/decisions/${id}/content`)).status).toBe(200);
  });

  test('a running decision cannot be scored', async () => {
    const { id, leave } = await hungStream();
    const give = (key = box.key) => box.post('/v1/feedback', { decision_id: id, score: 1 }, withKey(key));
    const refused = await give();
    expect(refused.headers.get('retry-after')).toBe('1');
    await expectError(refused, 'in_flight', 'decision_id');
    await expectError(await give(other), 'not_found', 'decision_id');
    leave();
    await ended(id);
    await expectError(await give(), 'nothing_to_score', 'decision_id');
  });

  test('only its own server knows a running decision, but every server knows its record', async () => {
    const world = new World();
    const a = await startOver(world, 'a', { policy, env: UPSTREAM_ENV });
    const b = await startOver(world, 'b', { policy, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: a.key } });
    try {
      const { id, leave } = await hungStream(a);
      expect((await read(id, a)).status).toBe('running');
      await expectError(await b.get(`/v1/decisions/${id}`), 'not_found');
      await expectError(await b.post('/v1/feedback', { decision_id: id, score: 1 }), 'not_found', 'decision_id');
      leave();
      await ended(id, a);
      await waitFor(async () => (await b.get(`/v1/decisions/${id}`)).ok);
      expect((await read(id, b)).status).toBe('abandoned');
    } finally {
      await Promise.all([a.stop(), b.stop()]);
    }
  });

  test('a decision that a shutdown cuts off has its record after the next start', async () => {
    const args = ['--drain-ms', '100'];
    const first = await startSignalbox({ policy, env: UPSTREAM_ENV, data: folder, args });
    const { id, response } = await hungStream(first);
    expect((await read(id, first)).status).toBe('running');
    first.signal('SIGTERM');
    expect((await eventsOf(response)).chunks.at(-1)).toMatchObject({ error: { code: 'overloaded' } });
    expect(await first.exited).toBe(0);
    const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: first.key };
    const again = await startSignalbox({ policy, env, data: folder });
    expect(await read(id, again)).toMatchObject({ status: 'abandoned', outcome: { error: 'overloaded' } });
    await again.stop();
  });
});
