import { afterAll, describe, expect, test } from 'bun:test';
import { effort } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';
import { chunksOf } from '../../support/openai-wire.ts';
import { testPolicy } from '../../support/policies.ts';
import { chatHead, connect, type RawConnection } from '../../support/raw-http.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';

/**
 * When a stream's headers and bytes are sent, and that silence ends no stream: many servers close idle connections after 10 or 30 s, but
 * here only the deadlines of the policy may. The seconds of silence are the runs of this section.
 */
const { runs: seconds, proved } = effort('quiet-streams', 12, 35);
const SILENCE_MS = seconds * 1_000;
const COMMIT_MS = 300;
/** The test allows four times the promised time, ms. */
const COMMIT_MS_AT_MOST = 4 * COMMIT_MS;

const upstream = useUpstream({ behaviour: ({ body }) => asPrompted(body.messages) });
const connections: RawConnection[] = [];

const box = useSignalbox(() => {
  const more = '    deadlines: { first_token_ms: 120000, idle_ms: 120000, total_ms: 300000 }\n';
  const gateway = `gateway: { commit_after_ms: ${COMMIT_MS}, retries_max: 0 }\n`;
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'], more } }, gateway);
  return { policy };
});
afterAll(async () => {
  for (const connection of connections) connection.close();
});

/** The prompt contains the behaviour of the upstream, so that many requests can run at once. */
function asPrompted(messages: unknown): Behaviour {
  return JSON.parse((messages as readonly { readonly content: string }[])[0]!.content);
}

async function ask(behaviour: Behaviour, fields: object = {}, ...headers: readonly string[]): Promise<RawConnection> {
  const messages = [{ role: 'user', content: JSON.stringify(behaviour) }];
  const body = JSON.stringify({ model: 'best', stream: true, messages, ...fields });
  const connection = await connect(box.url);
  connections.push(connection);
  await connection.write(chatHead(box.key, `content-length: ${body.length}`, ...headers) + body);
  return connection;
}

const PIECES = ['one ', 'two ', 'three ', 'four'];
const EVENTS = chunksOf({ model: 'm', messages: [] }, { text: PIECES }).map(
  (chunk) => `data: ${JSON.stringify(chunk)}\n\n`,
);
/** An answer in two writes. */
const HALVES = [EVENTS.slice(0, 3).join(''), `${EVENTS.slice(3).join('')}data: [DONE]\n\n`];

const headOf = ({ received }: RawConnection) => received.split('\r\n\r\n', 1)[0]!;
const hasHead = ({ received }: RawConnection) => received.includes('\r\n\r\n');
/** Returns the events of a stream, without the framing of HTTP. */
function eventsIn({ received }: RawConnection): string[] {
  const [, ...body] = received.split('\r\n\r\n');
  return [...body.join('\r\n\r\n').matchAll(/^(?:data: |: ).*$/gm)].map(([line]) => line);
}
const textOf = (connection: RawConnection) =>
  eventsIn(connection)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
    .join('');
const isDone = (connection: RawConnection) => connection.received.includes('data: [DONE]');
const heartbeats = (connection: RawConnection) => eventsIn(connection).filter((line) => line.startsWith(':')).length;

async function expectWhole(connection: RawConnection): Promise<void> {
  await waitFor(() => isDone(connection), SILENCE_MS + 10_000);
  expect(headOf(connection)).toStartWith('HTTP/1.1 200');
  expect(textOf(connection)).toBe(PIECES.join(''));
}

describe.concurrent('headers', () => {
  test('wait for the first part, and name the model', async () => {
    let connection: RawConnection;
    let took: number;
    let tries = 0;
    do {
      const since = performance.now();
      connection = await ask({ text: PIECES, firstChunkAfterMs: 150 });
      await waitFor(() => connection.received !== '', COMMIT_MS_AT_MOST);
      took = performance.now() - since;
      // A busy machine may be later than the time after which headers are sent without content.
    } while (took >= COMMIT_MS && ++tries < 10);
    expect(took).toBeGreaterThanOrEqual(149);
    expect(headOf(connection).toLowerCase()).toContain('x-signalbox-model: best');
    await waitFor(() => isDone(connection));
    expect(textOf(connection)).toBe(PIECES.join(''));
    expect(heartbeats(connection)).toBe(0);
  });

  test('report a failure before the first part; after the headers, an event reports it and no `[DONE]` follows', async () => {
    const early = await ask({ status: 500 });
    const late = await ask({ status: 500, headersAfterMs: 2 * COMMIT_MS });
    expect((await early.response()).status).toBe(502);
    await waitFor(() => eventsIn(late).length > 1, COMMIT_MS_AT_MOST);
    const [beat, event, ...more] = eventsIn(late);
    expect([headOf(late).split('\r\n')[0], beat, more]).toEqual(['HTTP/1.1 200 OK', ': waiting', []]);
    expect(JSON.parse(event!.slice(6))).toMatchObject({
      error: { code: 'upstream_failed' },
      platform: { routed_model: 'best' },
    });
  });
});

describe.concurrent(`silence of ${seconds} s`, () => {
  test('before a stream’s headers: 200 after `commit_after_ms`, heartbeats, and then the complete answer', async () => {
    const since = performance.now();
    const connection = await ask({ text: PIECES, headersAfterMs: SILENCE_MS });
    await waitFor(() => hasHead(connection), COMMIT_MS_AT_MOST);
    expect(performance.now() - since).toBeGreaterThanOrEqual(COMMIT_MS - 1);
    expect(headOf(connection).toLowerCase()).toContain('content-type: text/event-stream');
    await expectWhole(connection);
    expect(performance.now() - since).toBeGreaterThanOrEqual(SILENCE_MS - 1);
    // The connection gets a heartbeat with the headers, and another every 10 s.
    expect(heartbeats(connection)).toBe(1 + Math.floor((SILENCE_MS - COMMIT_MS) / 10_000));
    // After the first content, no heartbeat is sent.
    const lines = eventsIn(connection);
    expect(lines.findLastIndex((line) => line.startsWith(':'))).toBeLessThan(
      lines.findIndex((line) => line.startsWith('data:')),
    );
    proved(`${seconds} s of silence before the headers: the answer came whole`);
  });

  test('before its first part, with an `Idempotency-Key`: the same', async () => {
    const key = `idempotency-key: quiet-${crypto.randomUUID()}`;
    const connection = await ask({ text: PIECES, firstChunkAfterMs: SILENCE_MS }, {}, key);
    await waitFor(() => hasHead(connection), COMMIT_MS_AT_MOST);
    await expectWhole(connection);
  });

  test('during a stream: it continues', async () => {
    const since = performance.now();
    const connection = await ask({ raw: HALVES, betweenChunksMs: SILENCE_MS });
    await waitFor(() => textOf(connection).length > 0, COMMIT_MS_AT_MOST);
    await expectWhole(connection);
    expect(performance.now() - since).toBeGreaterThanOrEqual(SILENCE_MS - 1);
    proved(`${seconds} s of silence in the middle of an answer: the rest came whole`);
  });

  test('before an answer in one piece: the answer arrives', async () => {
    const connection = await ask({ text: PIECES, headersAfterMs: SILENCE_MS }, { stream: false });
    const { status, body } = await connection.response();
    expect([status, JSON.parse(body).choices[0].message.content]).toEqual([200, PIECES.join('')]);
  });
});
