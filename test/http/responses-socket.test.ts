import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Json } from '../../plugins/providers/json.ts';
import { waitFor } from '../support/answers.ts';
import { checkEvents } from '../support/open-responses/schemas.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { openResponses } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Tests OpenAI Responses over a WebSocket: each frame is a request like a POST, and each event of its answer is a frame. */
const upstream = useUpstream();
let box: Signalbox;
let shut: Signalbox;
beforeAll(async () => {
  const policy = (more: string) => testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
  box = await startSignalbox({ policy: policy(''), env: UPSTREAM_ENV });
  shut = await startSignalbox({ policy: policy('gateway: { websockets: false }'), env: UPSTREAM_ENV });
});
afterAll(async () => {
  await Promise.all([box.stop(), shut.stop()]);
});
afterEach(() => upstream.behave({}));

const open = (headers?: Readonly<Record<string, string>>) => openResponses(box, box.key, headers);

describe('a frame', () => {
  test('is answered by the events of the answer in one frame each, any number of times', async () => {
    const client = open();
    for (const text of ['Hello there.', 'And again.']) {
      upstream.next({ text });
      const events = await client.ask({ input: 'Hi' });
      checkEvents(events);
      const { response }: Json = Object(events.at(-1));
      expect(Object(Object(response).platform)).toMatchObject({
        routed_model: 'best',
        credits_consumed: expect.any(Number),
      });
      expect(JSON.stringify(response)).toContain(text);
    }
    client.socket.close();
  });

  test('that is not a request gets an error with its status, and the next frame is answered', async () => {
    const client = open();
    expect(await client.ask({ model: 'none', input: 'Hi' })).toMatchObject([
      { type: 'error', status: 404, error: { code: 'model_not_found', param: 'model' } },
    ]);
    await waitFor(() => client.socket.readyState === WebSocket.OPEN);
    client.socket.send('not JSON');
    await waitFor(() => client.events.length === 2);
    expect(client.events[1]).toMatchObject({ type: 'error', status: 400, error: { code: 'invalid_json' } });
    expect((await client.ask({ input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
    client.socket.close();
  });

  test('continues from the last answer of its connection, and from no other answer', async () => {
    const client = open();
    upstream.next({ text: 'I am well.' });
    const first = await client.ask({ input: 'How are you?', instructions: 'Be kind.' });
    const id = Object(first.at(-1)!.response).id;
    await client.ask({ previous_response_id: id, input: [{ role: 'user', content: 'And now?' }] });
    expect(upstream.requests.at(-1)!.asked.turns.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'How are you?'],
      ['assistant', 'I am well.'],
      ['user', 'And now?'],
    ]);
    const other = open();
    expect(await other.ask({ previous_response_id: id, input: 'And now?' })).toMatchObject([
      { type: 'error', status: 400, error: { code: 'unsupported_parameter', param: 'previous_response_id' } },
    ]);
    client.socket.close();
    other.socket.close();
  });

  test('that needs no answer is confirmed for free, and the next frame continues from it', async () => {
    const client = open();
    const { length } = upstream.requests;
    const events = await client.ask({ input: [{ role: 'developer', content: 'Be kind.' }], generate: false });
    checkEvents(events);
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [], usage: { total_tokens: 0 } },
    });
    expect(upstream.requests.length).toBe(length);
    await client.ask({ previous_response_id: Object(events.at(-1)!.response).id, input: 'Hi' });
    const { system, turns } = upstream.requests.at(-1)!.asked;
    expect([system, turns.map(({ text }) => text)]).toEqual(['Be kind.', ['Hi']]);
    for (const nonsense of [{ input: 7 }, { input: 'Hi', model: { toString: 1 } }])
      expect(await client.ask({ ...nonsense, generate: false })).toMatchObject([{ type: 'error', status: 400 }]);
    client.socket.close();
  });

  test('is refused while another frame is being answered', async () => {
    const client = open();
    upstream.next({ text: ['a', 'b'], headersAfterMs: 300 });
    const asked = client.ask({ input: 'Hi' });
    await waitFor(() => client.socket.readyState === WebSocket.OPEN);
    client.socket.send(JSON.stringify({ type: 'response.create', model: 'best', input: 'Me, too' }));
    expect((await asked)[0]).toMatchObject({ type: 'error', status: 409, error: { code: 'in_flight' } });
    await waitFor(() => client.events.at(-1)!.type === 'response.completed');
    client.socket.close();
  });

  test('is recorded, priced and counted like a POST request', async () => {
    const client = open();
    const last = (await client.ask({ input: 'Hi' })).at(-1)!;
    const { decision_id } = Object(Object(last.response).platform);
    const decision = (await (await box.get(`/v1/decisions/${decision_id}`)).json()) as Json;
    expect(decision).toMatchObject({ kind: 'chat', outcome: { status: 'completed' } });
    client.socket.close();
  });

  test('whose upstream answer is interrupted ends as failed', async () => {
    const client = open();
    upstream.next({ text: ['one ', 'two '], cutAfter: 3 });
    const events = await client.ask({ input: 'Hi' });
    await waitFor(() => client.events.at(-1)!.type === 'response.failed');
    expect(events.map(({ type }) => type)).not.toContain('response.completed');
    client.socket.close();
  });
});

test('a client that disconnects aborts its upstream request', async () => {
  const client = open();
  upstream.next({ text: ['a ', 'b '], hang: 2 });
  const before = upstream.aborted;
  await waitFor(() => client.socket.readyState === WebSocket.OPEN);
  client.socket.send(JSON.stringify({ type: 'response.create', model: 'best', input: 'Hi' }));
  await waitFor(() => client.events.some(({ type }) => type === 'response.output_text.delta'));
  client.socket.close();
  await waitFor(() => upstream.aborted > before);
});

test('a connection needs a key', async () => {
  const client = open({ authorization: 'Bearer sb_live_wrong' });
  await waitFor(() => client.closed !== null);
  expect(client.events).toEqual([]);
});

test('a key has at most 64 WebSocket connections, and can open another connection after it closes one', async () => {
  const clients = Array.from({ length: 64 }, () => open());
  await waitFor(() => clients.every(({ socket }) => socket.readyState === WebSocket.OPEN));
  const late = open();
  await waitFor(() => late.closed !== null);
  clients[0]!.socket.close();
  await waitFor(() => clients[0]!.closed !== null);
  const next = open();
  expect((await next.ask({ input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
  for (const { socket } of [next, ...clients]) socket.close();
});

test('a plain GET gets 426; if the policy turns WebSockets off, every WebSocket request gets 426', async () => {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  for (const [to, headers] of [
    [box, {}],
    [shut, {}],
    [shut, upgrade],
  ] as const) {
    const response = await fetch(`${to.url}/v1/responses`, {
      headers: { authorization: `Bearer ${to.key}`, ...headers },
    });
    const { error } = (await response.json()) as Json;
    expect([response.status, Object(error).code]).toEqual([426, 'upgrade_required']);
  }
});
