import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import { capOf, type Gate, startGate } from '../gateway/money/gate.ts';
import { hello, pursePolicy, tokens } from '../gateway/money/purse.ts';
import { newKey } from '../http/replay-support.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** Repeats with the same `Idempotency-Key` with a provider that holds its answers back. */
const PLACES = 20;
/** The budget `each` has room for one hold of 0.442 Credits, so a waiting repeat cannot hold money. */
const BUDGETS = `budgets:
  - { name: each, each: key.id, limit_credits: 0.8, window: day, on_exhausted: reject }
`;
const GATEWAY = `gateway: { retries_max: 0, concurrency_max: ${PLACES}, queue_max: 1, queue_ms: 100 }\n`;
const policyOf = (url: string): string => `${pursePolicy(url, 0).replace(/^gateway: .*\n/m, GATEWAY)}${BUDGETS}`;

let gate: Gate;
let failing = 0;
let box: Signalbox;
const start = () => startSignalbox({ policy: policyOf(gate.url), env: UPSTREAM_ENV });

beforeAll(async () => {
  gate = startGate({ usageOf: (request) => tokens(42, capOf(request)), fails: () => failing-- > 0, text: ['H', 'i'] });
  box = await start();
});
afterEach(async () => {
  failing = 0;
  gate.release(PLACES);
  await until(box, 0);
  gate.close();
});
afterAll(async () => {
  await box.stop();
  await gate.stop();
});

let made = 0;
const newApiKey = (server = box) => server.makeKey('--name', `caller-${++made}`);

interface Call {
  readonly at?: Signalbox;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Sends a request with this API key and this `Idempotency-Key`. */
const send = (key: string, named: string, { at = box, body = {}, signal }: Call = {}): Promise<Response> =>
  at.post(
    '/v1/chat/completions',
    { model: 'best', messages: hello, max_tokens: 100, ...body },
    { signal, headers: { ...withKey(key).headers, 'idempotency-key': named } },
  );

const openAt = async (server: Signalbox) =>
  total(readPage(await (await fetch(`${server.url}/metrics`)).text()), 'signalbox_requests_open');
const until = (server: Signalbox, open: number) => waitFor(async () => (await openAt(server)) === open);

/** Sends `count` equal requests, and resolves once one of them is at the provider and the others wait. */
async function crowd(count: number, body: object = {}) {
  const [key, named] = [await newApiKey(), newKey()];
  const answers = Array.from({ length: count }, () => send(key, named, { body }));
  await until(box, count);
  await waitFor(() => gate.inside === 1);
  return { key, named, answers };
}

/** Returns the Credits that a key was charged, according to its budget. */
async function chargedTo(key: string): Promise<number> {
  const usage = await box.get('/v1/usage', withKey(key));
  return ((await usage.json()) as { total_credits: number }).total_credits;
}

describe.each([
  ['JSON', {}],
  ['a stream', { stream: true, stream_options: { include_usage: true } }],
])('repeats that arrive while the first request runs, for %s', (_, body) => {
  test('repeats get the answer of the running request: one call, one charge, and no second hold', async () => {
    const { key, answers } = await crowd(8, body);
    gate.release();
    const responses = await Promise.all(answers);
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const replayed = responses.filter(({ headers }) => headers.get('x-signalbox-replayed') === 'true');
    expect(replayed).toHaveLength(7);
    const texts = await Promise.all(responses.map((one) => one.text()));
    expect(new Set(texts).size).toBe(1);
    expect(gate.requests).toHaveLength(1);
    await waitFor(async () => (await chargedTo(key)) === 0.442);
  });

  test('if runs end without a charge, repeats run one at a time; once one is answered, the others get that answer', async () => {
    failing = 2;
    const { answers } = await crowd(5, body);
    gate.release();
    await waitFor(() => gate.requests.length === 2);
    gate.release();
    await waitFor(() => gate.requests.length === 3);
    await until(box, 3);
    gate.release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 502, 502]);
    expect(gate.requests).toHaveLength(3);
    expect(gate.most).toBe(1);
  });
});

test('a repeat whose caller disconnects stops waiting, releases its place, and never starts a run', async () => {
  const { key, named, answers } = await crowd(1);
  const leaving = new AbortController();
  const left = send(key, named, { signal: leaving.signal }).catch(() => null);
  await until(box, 2);
  failing = 1;
  leaving.abort();
  expect(await left).toBeNull();
  await until(box, 1);
  gate.release();
  expect((await answers[0]!).status).toBe(502);
  await until(box, 0);
  expect(gate.requests).toHaveLength(1);
});

test('another body with the same Idempotency-Key is refused at once', async () => {
  const { key, named, answers } = await crowd(1);
  await expectError(
    await send(key, named, { body: { temperature: 0.5 } }),
    'idempotency_key_reused',
    'Idempotency-Key',
  );
  gate.release();
  expect((await answers[0]!).status).toBe(200);
});

test('a repeat with the rotated secret of the API key is refused at once, because it could not decrypt the answer', async () => {
  const created = (await (await box.post('/admin/keys', { name: 'rotated' })).json()) as { id: string; key: string };
  const named = newKey();
  const first = send(created.key, named);
  await waitFor(() => gate.inside === 1);
  const rotation = await box.post(`/admin/keys/${created.id}/rotate`, { overlap_seconds: 600 });
  const rotated = (await rotation.json()) as { key: string };
  await waitFor(async () => (await box.get('/v1/models', withKey(rotated.key))).status === 200);
  await expectError(await send(rotated.key, named), 'in_flight');
  gate.release();
  expect((await first).status).toBe(200);
});

describe('an API key that changes while its repeat waits', () => {
  type Change = (id: string) => Promise<Response>;
  const patch =
    (body: object): Change =>
    (id) =>
      fetch(`${box.url}/admin/keys/${id}`, {
        method: 'PATCH',
        headers: { ...withKey(box.key).headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
  const changes: readonly (readonly [string, Change, ErrorCode, string | null])[] = [
    ['revoked', (id) => box.post(`/admin/keys/${id}/revoke`, {}), 'invalid_api_key', null],
    ['suspended', (id) => box.post(`/admin/keys/${id}/suspend`, {}), 'key_suspended', null],
    ['left without the scope', patch({ scopes: ['report'] }), 'insufficient_permissions', null],
    ['left without the model', patch({ models: ['other'] }), 'insufficient_permissions', 'model'],
  ];

  test.each(changes)('an API key that is %s starts no run with its waiting repeat', async (_, change, code, param) => {
    const made = await box.post('/admin/keys', { name: `changed-${newKey()}` });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const named = newKey();
    failing = 1;
    const first = send(key, named);
    await waitFor(() => gate.inside === 1);
    const repeats = [send(key, named), send(key, named)];
    await until(box, 3);
    expect((await change(id)).status).toBe(200);
    await waitFor(async () => (await send(key, newKey())).status >= 400);
    gate.release();
    expect((await first).status).toBe(502);
    for (const repeat of await Promise.all(repeats)) await expectError(repeat, code, param);
    expect(gate.requests).toHaveLength(1);
  });
});

test('an API key that repeats requests endlessly leaves places for other keys', async () => {
  const { answers } = await crowd(PLACES - 2);
  const other = send(await newApiKey(), newKey());
  await waitFor(() => gate.inside === 2);
  gate.release(2);
  const responses = await Promise.all([...answers, other]);
  expect(responses.map(({ status }) => status)).toEqual(Array(PLACES - 1).fill(200));
  expect(gate.requests).toHaveLength(2);
});

test('a server that shuts down refuses waiting repeats with 503, and lets the first request end', async () => {
  const server = await start();
  const [key, named] = [await newApiKey(server), newKey()];
  const first = send(key, named, { at: server });
  await waitFor(() => gate.inside === 1);
  const repeats = [send(key, named, { at: server }), send(key, named, { at: server })];
  await until(server, 3);
  // `stop` of a test server ends the drain at once, so only the signal lets the first request end.
  server.signal('SIGTERM');
  for (const repeat of await Promise.all(repeats)) {
    expect(repeat.headers.get('retry-after')).toBe('1');
    await expectError(repeat, 'overloaded');
  }
  gate.release();
  expect((await first).status).toBe(200);
  await server.stop();
});

test('a repeat that has waited for the longest total deadline gets 409', async () => {
  const short = (yaml: string) => yaml.replace(/^ {4}quality: .*$/gm, '$&\n    deadlines: { total_ms: 3000 }');
  const server = await startSignalbox({ policy: short(policyOf(gate.url)), env: UPSTREAM_ENV });
  const [key, named] = [await newApiKey(server), newKey()];
  failing = 1;
  const first = send(key, named, { at: server });
  await waitFor(() => gate.inside === 1);
  const repeats = [send(key, named, { at: server }), send(key, named, { at: server })];
  await until(server, 3);
  // When the wait of the other repeat ends, this repeat begins its own run with a deadline 1.5 s later.
  await Bun.sleep(1_500);
  gate.release();
  expect((await first).status).toBe(502);
  await waitFor(() => gate.requests.length === 2);
  const refused = await Promise.any(repeats);
  expect(refused.headers.get('retry-after')).toBe('1');
  await expectError(refused, 'in_flight');
  gate.release();
  expect((await Promise.all(repeats)).map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(gate.requests).toHaveLength(2);
  await server.stop();
});

test('with `repeats_in_flight: refuse`, a repeat of a running request gets 409 at once', async () => {
  const policy = policyOf(gate.url).replace(GATEWAY, 'gateway: { retries_max: 0, repeats_in_flight: refuse }\n');
  const server = await startSignalbox({ policy, env: UPSTREAM_ENV });
  const [key, named] = [await newApiKey(server), newKey()];
  const first = send(key, named, { at: server });
  await waitFor(() => gate.inside === 1);
  await expectError(await send(key, named, { at: server }), 'in_flight');
  gate.release();
  expect((await first).status).toBe(200);
  await server.stop();
});
