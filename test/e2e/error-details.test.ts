import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { StoreError } from '../../src/store/store.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { overlaid } from '../support/overlaid.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { chatHead, connect } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { startThreeModels, type ThreeModels } from '../support/three-models.ts';

let three: ThreeModels;
let box: Signalbox;
let first: FakeUpstream;
let second: FakeUpstream;
let third: FakeUpstream;

beforeAll(async () => {
  three = await startThreeModels();
  ({ box, first, second, third } = three);
});

afterAll(() => three.stop());

const hello = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object, init?: RequestInit) =>
  box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body }, init);
const chatWith = (one: Signalbox, body: object) =>
  one.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });
const post = (path: string, body: string, headers: Record<string, string>) =>
  fetch(box.url + path, { method: 'POST', body, headers });
const TEN_MB = `{"model":"auto","messages":[{"role":"user","content":"${'a'.repeat(10_000_000)}"}]}`;

test('an error about an earlier tool call of an unknown type names the type, not a missing field', async () => {
  const call = { id: 'c', type: 'custom', custom: { name: 'x', input: '' } };
  const response = await chat({ messages: [{ role: 'assistant', tool_calls: [call] }] });
  await expectError(response, 'unsupported_parameter', 'messages[0].tool_calls[0].type');
});

test('the request ID in the error for a refused key finds its line in the log', async () => {
  const response = await chat({ model: 'nobody' });
  const request = response.headers.get('x-request-id');
  const isTold = (line: string) => line.includes(`"request":"${request}"`);
  await waitFor(() => box.lines.some((line) => isTold(line) && line.includes('"error":"model_not_found"')));
});

test('the errors for another product’s key and for an unknown path say what would be right, with and without a key', async () => {
  const said = async (path: string, init?: RequestInit) =>
    ((await (await box.post(path, {}, init)).json()) as { error: { message: string } }).error.message;
  expect(await said('/v1/route', withKey('sk-of-another'))).toMatch(
    /^The credentials do not have the form of a Signalbox API key\./,
  );
  expect(await said('/v1/route', { headers: { authorization: box.key } })).toMatch(
    /^Write Bearer in front of the key\./,
  );
  for (const init of [undefined, withKey('sk-of-another'), { headers: {} }]) {
    expect(await said('/chat/completions', init)).toBe(
      'There is nothing at /chat/completions. Use /v1/chat/completions. The base URL of a client ends with /v1.',
    );
  }
});

describe('before the body is read', () => {
  test('a bad key gets its error although 10 MB of body follow', async () => {
    const bad = { authorization: 'Bearer sb_live_nobody_0123456789', 'content-type': 'application/json' };
    await expectError(await post('/v1/chat/completions', TEN_MB, bad), 'invalid_api_key');
    const connection = await connect(box.url);
    await connection.write(chatHead('sb_live_nobody_0123456789', 'content-length: 10000000'));
    await expectError(await connection.response(), 'invalid_api_key');
    connection.close();
  });
});

test('a request with too large headers ends its connection, with or without a 431', async () => {
  const connection = await connect(box.url);
  await connection.write(chatHead(box.key, `x-big: ${'a'.repeat(400_000)}`));
  expect(await connection.closed).toMatch(/^(HTTP\/1.1 431 |$)/);
});

describe('422 no_eligible_model', () => {
  test('422 no_eligible_model lists every model with the reasons against it, and the smallest change that helps', async () => {
    const constraints = { max_latency_ms: 10, required_languages: ['klingon'] };
    const { details, message } = await expectError(await chat({ constraints }), 'no_eligible_model');
    expect(details.rejected).toEqual(
      ['best', 'hasty', 'plain'].map((model) => ({
        model,
        reasons: [
          expect.stringContaining('`klingon` is not a known programming language'),
          expect.stringContaining('ms is above max_latency_ms'),
        ],
      })),
    );
    expect(details).not.toHaveProperty('relaxation');
    expect(message).toStartWith('No model can serve this request. The nearest is `best`: ');
    expect(message).toContain('`klingon` is not a known programming language');
    expect(message).toContain('(remove klingon from required_languages)');
    // Agents show only the message, so that both changes together have to be enough.
    const [, latency] = /\(change max_latency_ms from 10 to (\d+)\)/.exec(message)!;
    const changed = await chat({ constraints: { max_latency_ms: Number(latency), required_languages: [] } });
    expect((await answerOf(changed)).platform.routed_model).toBe('best');
  });

  test('the message names the field that the nearest model does not support', async () => {
    const logprobs = { logprobs: true, constraints: { max_latency_ms: 10 } };
    const { message } = await expectError(await chat(logprobs), 'no_eligible_model');
    expect(message).toContain('it lacks logprobs (leave `logprobs` out)');
  });
});

test('if every upstream answers 429, the caller gets the shortest `retry-after` of all upstreams', async () => {
  first.next({ status: 429, headers: { 'retry-after': '9' } });
  second.next({ status: 429, headers: { 'retry-after-ms': '2500' } });
  third.next({ status: 429 });
  const response = await chatWith(await three.afresh(), {});
  await expectError(response, 'upstream_rate_limited');
  expect(response.headers.get('retry-after')).toBe('3');
  expect(response.headers.get('retry-after-ms')).toBe('2500');
});

describe('504 upstream_timeout', () => {
  test('504 upstream_timeout comes if no upstream answers in time, and says not to repeat, because the prompt is charged', async () => {
    for (const stream of [false, true]) {
      third.next({ hang: 'headers' });
      const response = await chat({ model: 'hasty', stream });
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(response.status).toBe(504);
      expect(await response.json()).toMatchObject({ error: { type: 'upstream_error', code: 'upstream_timeout' } });
    }
  });
});

describe('an upstream’s secrets', () => {
  test('neither the key nor the address of an upstream appears in an error or in the log', async () => {
    const words = `key ${UPSTREAM_KEY} is not known at ${first.url}/chat/completions`;
    for (const stream of [false, true]) {
      // These answers put the endpoint into a cool-down, so another server is used.
      const fresh = await three.afresh();
      const out = new Map([
        [401, { model: 'best', at: first }],
        [403, { model: 'plain', at: second }],
        [429, { model: 'hasty', at: third }],
      ]);
      for (const status of [400, 401, 403, 404, 429, 500, 503]) {
        const { model, at } = out.get(status) ?? { model: 'best', at: first };
        at.next({ status, error: { message: words } });
        const text = await (await chatWith(out.has(status) ? fresh : box, { model, stream })).text();
        expect(text).toContain('"error"');
        expect(text).not.toContain(UPSTREAM_KEY);
        expect(text).not.toContain(String(first.port));
      }
      first.next({ text: ['a', 'b'], raw: [`data: {"error":{"message":"${words}"}}\n\n`] });
      expect(await (await chat({ model: 'best', stream })).text()).not.toContain(UPSTREAM_KEY);
    }
    expect(box.lines.join('\n')).not.toContain(UPSTREAM_KEY);
  });

  test('an unreachable upstream is a 502 without its address', async () => {
    const gone = startFakeUpstream();
    await gone.stop();
    const policy = testPolicy({ gone: gone.url }, { lost: { endpoints: ['gone'] } });
    const other = await startSignalbox({ policy, env: UPSTREAM_ENV });
    const response = await other.post('/v1/chat/completions', { model: 'lost', messages: hello });
    const { message } = await expectError(response, 'upstream_failed');
    expect(message).not.toContain(String(gone.port));
    await other.stop();
  });
});

test('while the server drains, a request on an open connection gets 503 overloaded', async () => {
  const other = await startSignalbox();
  const body = JSON.stringify({ model: 'auto', messages: hello });
  const connection = await connect(other.url);
  await connection.write(chatHead(other.key, `content-length: ${body.length}`));
  // The server has read this request's headers before the signal, because a second connection was answered after them.
  await other.get('/v1/models');
  other.signal('SIGTERM');
  await waitFor(() => other.lines.some((line) => line.includes('"draining"')));
  await connection.write(body);
  const response = await connection.response();
  await expectError(response, 'overloaded');
  expect(response.headers.get('retry-after')).toBe('1');
  expect(await other.exited).toBe(0);
  await other.stop();
});

describe('when this program itself fails', () => {
  const secret = 'a-secret-in-an-error';

  /** Returns the answer to a chat whose money cannot be set aside, with the log and the metrics after it. */
  async function failedBy(failure: Error) {
    const data = temporaryFolder();
    const store = await openStore(join(data, 'signalbox.db'), { mode: 'serve', program: 'test' });
    const openBooks = async (now: () => number) =>
      overlaid(await store.openBooks(now), { apply: () => Promise.reject(failure) });
    const policy = testPolicy({ first: first.url }, { best: { endpoints: ['first'] } });
    const other = await startSignalbox({
      ...{ policy, data, env: UPSTREAM_ENV },
      openStore: async () => overlaid(store, { openBooks }),
    });
    const before = first.requests.length;
    const response = await chatWith(other, {});
    expect(first.requests.length).toBe(before);
    const metrics = await (await fetch(`${other.url}/metrics`)).text();
    await other.stop();
    rmSync(data, { recursive: true, force: true });
    return { response, metrics, log: other.lines.join('\n') };
  }

  test('500 internal_error contains neither a stack nor a secret; the log has the stack with the request’s ID', async () => {
    const { response, metrics, log } = await failedBy(new Error(secret));
    const { message } = await expectError(response, 'internal_error');
    expect(message).not.toContain(secret);
    expect(message).not.toMatch(/\.ts|\bat /);
    expect(log).toContain(secret);
    expect(log).toContain(response.headers.get('x-request-id')!);
    expect(metrics).toContain('signalbox_requests_open 0\n');
  });

  test('503 overloaded comes if the ledger cannot be written: no money is spent without an entry', async () => {
    const { response } = await failedBy(new StoreError(secret));
    const { message } = await expectError(response, 'overloaded');
    expect(message).not.toContain(secret);
    expect(response.headers.get('retry-after')).toBe('1');
  });
});
