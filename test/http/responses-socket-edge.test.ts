import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { openResponses, type ResponsesSocket } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/**
 * Every WebSocket frame passes all checks of the server, even a frame that needs no model. The conversation that the frame continues passes
 * the same checks.
 */
const upstream = useUpstream();
const MODELS = { best: { endpoints: ['fake'] }, other: { endpoints: ['fake'] } };
const PART = 'x'.repeat(700_000);
/** The room for bodies: one body of 3 MB fits if its caller has nothing else, but not with two parts. */
const ROOM = 8_388_608;
let box: Signalbox;
let tight: Signalbox;
let small: Signalbox;
beforeAll(async () => {
  const policy = (gateway: string) =>
    testPolicy({ fake: upstream.url }, MODELS, `gateway: { retries_max: 0, ${gateway} }`);
  box = await startSignalbox({
    policy: policy('body_bytes_max: 2000000, messages_max: 8, tools_max: 8'),
    env: UPSTREAM_ENV,
  });
  tight = await startSignalbox({
    policy: policy(`bodies_bytes_max: ${ROOM}, socket_bytes_max: 720000`),
    env: UPSTREAM_ENV,
  });
  small = await startSignalbox({
    policy: policy('bodies_bytes_max: 1048576, socket_bytes_max: 65536'),
    env: UPSTREAM_ENV,
  });
});
const opened: ResponsesSocket[] = [];
afterAll(async () => {
  for (const { socket } of opened) socket.close();
  await Promise.all([box.stop(), tight.stop(), small.stop()]);
});

function open(to: Signalbox, key: string): ResponsesSocket {
  const connection = openResponses(to, key);
  opened.push(connection);
  return connection;
}

describe('a frame that needs no answer', () => {
  test('counts as a request, and gets 429 with a retry time if it exceeds the limit', async () => {
    const key = await box.makeKey('--rpm', '2');
    const connection = open(box, key);
    const first = await connection.warmUp('Be kind.');
    expect(await connection.warmUp('Be brief.', first)).toMatchObject({ type: 'response.completed' });
    for (const members of [{ generate: false }, {}]) {
      const [refused] = await connection.ask({ input: 'Hi', ...members });
      expect(refused).toMatchObject({
        type: 'error',
        status: 429,
        error: { code: 'rate_limit_exceeded', details: { limit: 'api-key', kind: 'requests' } },
        headers: { 'retry-after': expect.stringMatching(/^\d+$/), 'x-ratelimit-remaining-requests': '0' },
      });
    }
    expect(connection.closed).toBeNull();
  });

  test('counts no tokens and no money, and calls no provider', async () => {
    const key = await box.makeKey('--rpm', '100', '--tpm', '600', '--budget', '1/day');
    const connection = open(box, key);
    const { length } = upstream.requests;
    // More requests than either limit allows.
    for (let count = 0, last = {}; count < 5; count++) {
      last = await connection.warmUp('word '.repeat(1_000), count > 0 && last);
      expect(last).toMatchObject({ type: 'response.completed', response: { usage: { total_tokens: 0 } } });
    }
    expect(upstream.requests.length).toBe(length);
    const headers = { authorization: `Bearer ${key}` };
    const body = { model: 'best', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 };
    const answer = await box.post('/v1/chat/completions', body, { headers });
    expect([answer.status, Number(answer.headers.get('x-ratelimit-remaining-tokens')) > 300]).toEqual([200, true]);
  });

  test('is refused like a POST if it names no model or a forbidden one, or is too large', async () => {
    const connection = open(box, await box.makeKey('--model', 'best'));
    const item = { role: 'user', content: 'Hi' };
    const tool = { type: 'function', name: 'run', parameters: {} };
    for (const [members, status, code, param] of [
      [{ model: 'none', input: 'Hi' }, 404, 'model_not_found', 'model'],
      [{ model: 'other', input: 'Hi' }, 403, 'insufficient_permissions', 'model'],
      [{ input: Array.from({ length: 9 }, () => item) }, 400, 'out_of_range', 'input'],
      [{ input: 'Hi', tools: Array.from({ length: 9 }, () => tool) }, 400, 'out_of_range', 'tools'],
    ] as const) {
      const refused = { type: 'error', status, error: { code, param } };
      for (const generate of [true, false])
        expect(await connection.ask({ ...members, generate })).toMatchObject([refused]);
    }
  });

  test('is refused with a revoked key, and the connection is closed', async () => {
    const key = await box.makeKey();
    for (const members of [{ generate: false }, {}]) {
      const fresh = await box.makeKey();
      const [connection, other] = [open(box, fresh), open(box, key)];
      await Promise.all([connection.warmUp('Be kind.'), other.warmUp('Be kind.')]);
      expect((await box.run('keys', 'revoke', fresh.split('_')[2]!)).code).toBe(0);
      await waitFor(async () => (await box.get('/v1/models', withKey(fresh))).status === 401);
      const [refused] = await connection.ask({ input: 'Hi', ...members });
      expect(refused).toMatchObject({ type: 'error', status: 401, error: { code: 'invalid_api_key' } });
      await waitFor(() => connection.closed !== null);
      expect([connection.closed, connection.reason]).toEqual([1008, 'The API key is no longer valid.']);
      expect(await other.warmUp('Be brief.')).toMatchObject({ type: 'response.completed' });
    }
  });

  test('gets 413 if it is too large together with the conversation that it continues', async () => {
    const connection = open(box, box.key);
    const first = await connection.warmUp(PART);
    const second = await connection.warmUp(PART, first);
    expect(second).toMatchObject({ type: 'response.completed' });
    const refused = { type: 'error', status: 413, error: { code: 'request_too_large' } };
    expect(await connection.warmUp(PART, second)).toMatchObject(refused);
    expect(await connection.warmUp('A little more.', second)).toMatchObject({ type: 'response.completed' });
  });
});

describe('the conversation that a connection remembers', () => {
  /** The status of a large body: 503 without room for it, otherwise 400 because it is too large for the model. */
  const large = async (key: string) => {
    const body = { model: 'best', messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] };
    return (await tight.post('/v1/chat/completions', body, withKey(key))).status;
  };

  test('takes room that other requests of its key cannot use, and releases it at the end', async () => {
    const key = await tight.makeKey();
    const connection = open(tight, key);
    const second = await connection.warmUp(PART, await connection.warmUp(PART));
    expect(await large(key)).toBe(400);
    await connection.warmUp(PART, second);
    expect(await large(key)).toBe(503);
    connection.socket.close();
    await waitFor(async () => (await large(key)) === 400);
  });

  test('gets 503 if there is no room for it', async () => {
    const connection = open(tight, await tight.makeKey());
    let last = await connection.warmUp(PART);
    for (let count = 0; count < 2; count++) last = await connection.warmUp(PART, last);
    expect(last).toMatchObject({ type: 'response.completed' });
    expect(await connection.warmUp(PART, last)).toMatchObject({
      type: 'error',
      status: 503,
      error: { code: 'overloaded' },
    });
  });

  test('ends with its connection if there is no room for the last answer', async () => {
    const connection = open(small, small.key);
    upstream.next({ text: Array.from({ length: 10 }, () => 'x'.repeat(60_000)) });
    const events = await connection.ask({ input: 'Hi' });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
    await waitFor(() => connection.closed !== null);
    expect([connection.closed, connection.reason]).toEqual([
      1013,
      'The server has no room to remember this conversation.',
    ]);
  });
});

test('a frame that is not a request gets an error that names the right type', async () => {
  const connection = open(box, box.key);
  expect(await connection.ask({ type: 'response.cancel', input: 'Hi' })).toMatchObject([
    { type: 'error', status: 400, error: { code: 'invalid_value', param: 'type' } },
  ]);
});

const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
