import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { connect, type Deaf, end, isAnswered, requestText, statusesOf } from '../support/deaf-connections.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { newKey } from './replay-support.ts';

/** Repeats of large stored answers, many at once. */
const LETTERS = 900_000;
/** The memory for answers, bytes. A single caller gets half of it. */
const ROOM = 1_048_576;
/** The pieces of an answer whose stored form has 4 bytes a piece. Its events have about 9 MB, more than a connection buffers. */
const PIECES = 40_000;
/** How many repeats of such an answer have room: with another one, the caller would hold more than is still free. */
const FITTING = 3;

let upstream: FakeUpstream;
let box: Signalbox;
let small: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const start = (more: string) => {
    const gateway = `\ngateway: { retries_max: 0, repeats_in_flight: wait${more} }\n`;
    const policy = testPolicy({ up: upstream.url }, { large: { endpoints: ['up'] } }, gateway);
    return startSignalbox({ policy, env: UPSTREAM_ENV });
  };
  [box, small] = await Promise.all([start(''), start(`, answers_bytes_max: ${ROOM}`)]);
});
afterEach(() => upstream.behave({}));
afterAll(() => Promise.all([box.stop(), small.stop(), upstream.stop()]));

const bodyOf = (stream: boolean) => ({ model: 'large', stream, messages: [{ role: 'user', content: 'Say much.' }] });
const ask = (at: Signalbox, key: string, stream = false, init: RequestInit = {}) =>
  at.post('/v1/chat/completions', bodyOf(stream), { ...init, headers: { 'idempotency-key': key } });

const requestFor = (at: Signalbox, key: string, stream: boolean) =>
  requestText(at, bodyOf(stream), [`idempotency-key: ${key}`]);

/** Sends the same stream again over connections that nothing reads, until all of them have an answer. */
async function askDeaf(count: number, key: string): Promise<Deaf[]> {
  const all = await Promise.all(Array.from({ length: count }, () => connect(small, 'first bytes')));
  for (const { socket } of all) socket.write(requestFor(small, key, true));
  return all;
}

test('a server answers other requests before it has begun to answer many repeats of a large answer', async () => {
  upstream.behave({ text: 'x'.repeat(LETTERS) });
  const key = newKey();
  expect((await (await ask(box, key)).text()).length).toBeGreaterThan(LETTERS);
  const starts: string[] = [];
  const repeats = await Promise.all(Array.from({ length: 60 }, () => connect(box, 'all', () => starts.push('repeat'))));
  const health = await connect(box, 'all', () => starts.push('health'));
  for (const { socket } of repeats) socket.write(requestFor(box, key, false));
  health.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await waitFor(() => [health, ...repeats].every(isAnswered));
  expect(statusesOf(repeats)).toEqual(repeats.map(() => '200'));
  expect(starts.indexOf('health')).toBeLessThan(repeats.length / 2);
  end([health, ...repeats]);
});

test('many repeats at once get the same bytes as the first request, as JSON and as a stream', async () => {
  // Most bytes of this text are parts of characters, and a piece of the answer can begin within a character.
  upstream.behave({ text: 'aé漢😀"\n'.repeat(LETTERS / 20) });
  for (const stream of [false, true]) {
    const key = newKey();
    const first = await ask(box, key, stream);
    const bytes = Buffer.from(await first.arrayBuffer());
    const repeats = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { status, headers, ...response } = await ask(box, key, stream).then(async (one) => ({
          ...{ status: one.status, headers: one.headers },
          isSame: bytes.equals(Buffer.from(await one.arrayBuffer())),
        }));
        const named = ['content-type', 'x-signalbox-model', 'x-signalbox-credits', 'x-signalbox-decision-id'];
        return {
          status,
          ...response,
          headers: named.map((name) => headers.get(name)),
          replayed: headers.get('x-signalbox-replayed'),
        };
      }),
    );
    const headers = ['content-type', 'x-signalbox-model', 'x-signalbox-credits', 'x-signalbox-decision-id'].map(
      (name) => first.headers.get(name),
    );
    expect(repeats).toEqual(repeats.map(() => ({ status: 200, isSame: true, headers, replayed: 'true' })));
  }
});

test('repeats share the memory for answers until their callers have read them or disconnected, and a repeat without memory is refused', async () => {
  upstream.behave({ text: Array<string>(PIECES).fill('x') });
  const key = newKey();
  await (await ask(small, key, true)).text();
  const deaf = await askDeaf(FITTING + 2, key);
  await waitFor(() => deaf.every(isAnswered));
  expect(statusesOf(deaf)).toEqual([...Array<string>(FITTING).fill('200'), '503', '503']);
  await expectError(await ask(small, key, true), 'overloaded', null, true);
  end(deaf);
  // Each repeat releases its memory, whether its caller reads it or disconnects.
  for (let at = 0; at < 2 * FITTING; at++) {
    const text = await waitFor(async () => {
      const response = await ask(small, key, true);
      const body = await response.text();
      return response.status === 200 ? body : null;
    });
    expect(text).toContain('[DONE]');
  }
});

test('repeats that waited for the first request share the memory for answers, too', async () => {
  upstream.behave({ text: Array<string>(PIECES).fill('x'), firstChunkAfterMs: 500 });
  const key = newKey();
  const before = upstream.requests.length;
  const first = ask(small, key, true).then((response) => response.text());
  await waitFor(() => upstream.requests.length > before);
  const deaf = await askDeaf(FITTING + 2, key);
  expect(await first).toContain('[DONE]');
  await waitFor(() => deaf.every(isAnswered));
  expect(statusesOf(deaf)).toEqual([...Array<string>(FITTING).fill('200'), '503', '503']);
  end(deaf);
});
