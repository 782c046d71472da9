import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../../support/answers.ts';
import { connect, type Deaf, end, isAnswered, requestText, statusesOf } from '../../support/deaf-connections.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { cachingServer, missAndHit } from './support.ts';

/** Hits of large answers, many at once. */
const LETTERS = 900_000;
const HITS = 24;
/** The memory for answers, bytes. */
const ROOM = 1_048_576;
/** The pieces of an answer whose stored form has 4 bytes a piece. Its events have about 9 MB, more than a connection buffers. */
const PIECES = 40_000;
/** How many hits of such an answer have room: with another one, the caller would hold more than is still free. */
const FITTING = 3;

const GUARDS = 'guards: [{ name: words, guard: words, on: [output], on_match: block, settings: { deny: [zebra] } }]\n';

const upstream = useUpstream();
let plain: Signalbox;
let guarded: Signalbox;
let small: Signalbox;

beforeAll(async () => {
  [plain, guarded, small] = await Promise.all([
    cachingServer(upstream.url, 'cache: {}\n'),
    cachingServer(upstream.url, `cache: {}\n${GUARDS}`),
    cachingServer(upstream.url, `cache: {}\ngateway: { answers_bytes_max: ${ROOM} }\n`),
  ]);
});
afterEach(() => upstream.behave({}));
afterAll(() => Promise.all([plain, guarded, small].map((box) => box.stop())));

const bodyOf = (content: string, stream = false) => ({
  model: 'best',
  temperature: 0,
  stream,
  messages: [{ role: 'user', content }],
});

/** Fills the cache with an answer, and returns the text of a request for it. */
async function filled(box: Signalbox, body: object): Promise<string> {
  const { hit } = await missAndHit(upstream, () => box.post('/v1/chat/completions', body));
  await hit.text();
  return requestText(box, body);
}

test.each([
  ['without guards', () => plain],
  ['with a guard on answers', () => guarded],
])(
  'a server answers a request that arrives after the first of many hits of a large answer before most of the others, %s',
  async (_, at) => {
    const box = at();
    upstream.behave({ text: 'x'.repeat(LETTERS) });
    const text = await filled(box, bodyOf('Say much.'));
    const calls = upstream.requests.length;
    const starts: string[] = [];
    const health = await connect(box, 'all', () => starts.push('health'));
    const start = () => {
      if (starts.push('hit') === 1) health.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    };
    const hits = await Promise.all(Array.from({ length: HITS }, () => connect(box, 'all', start)));
    for (const { socket } of hits) socket.write(text);
    await waitFor(() => [health, ...hits].every(isAnswered));
    expect([statusesOf(hits), upstream.requests.length]).toEqual([hits.map(() => '200'), calls]);
    expect(starts.indexOf('health')).toBeLessThan(HITS / 2);
    end([health, ...hits]);
  },
);

test('`policy explain --decision` names the repeated decision of a hit, and lists no attempts', async () => {
  const { miss, hit } = await missAndHit(upstream, () => plain.post('/v1/chat/completions', bodyOf('Say once.')));
  const [first, repeated] = await Promise.all([answerOf(miss), answerOf(hit)]);
  const { out, code } = await waitFor(async () => {
    const result = await plain.run('policy', 'explain', '--decision', repeated.platform.decision_id);
    return result.err === '' ? result : null;
  });
  expect(code).toBe(0);
  expect(out).toContain(`an equal request, ${first.platform.decision_id}.`);
  expect(out).not.toMatch(/^attempt |cannot be repeated/m);
});

test('hits share the memory for answers until their callers have read them or disconnected, and a model answers the others', async () => {
  upstream.behave({ text: Array<string>(PIECES).fill('x') });
  const body = bodyOf('Say many things.', true);
  const text = await filled(small, body);
  const before = upstream.requests.length;
  const deaf: Deaf[] = await Promise.all(Array.from({ length: FITTING + 2 }, () => connect(small, 'first bytes')));
  for (const { socket } of deaf) socket.write(text);
  await waitFor(() => deaf.every(isAnswered));
  expect([statusesOf(deaf), upstream.requests.length - before]).toEqual([deaf.map(() => '200'), 2]);
  end(deaf);
  // Each hit releases its memory, whether its caller reads it or disconnects.
  for (let at = 0; at < 2 * FITTING; at++) {
    const { hit } = await missAndHit(upstream, () => small.post('/v1/chat/completions', body));
    expect(await hit.text()).toContain('[DONE]');
  }
});
