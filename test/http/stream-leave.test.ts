import { afterAll, describe, expect, test } from 'bun:test';
import { connect as connectSlowly, type Socket } from 'node:net';
import { quietFor, waitFor } from '../support/answers.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { chatHead, connect, type RawConnection } from '../support/raw-http.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * A caller who disconnects at any moment aborts the upstream call, unless the request has an `Idempotency-Key`. test/e2e/abandon.test.ts
 * checks the charges.
 */
const upstream = useUpstream();
const sockets: Socket[] = [];

const COMMIT_MS = 100;
/** The upstream should see the abort within 250 ms. A busy machine gets much more, which is still less than any deadline here. */
const ABORT_MS = 5_000;

const box = useSignalbox(() => {
  const gateway = `gateway: { commit_after_ms: ${COMMIT_MS}, retries_max: 0 }\n`;
  return {
    policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, gateway),
  };
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
});

const messages = [{ role: 'user', content: 'Say hello.' }];

/** Sends a request and waits until the upstream has received it. */
async function ask(behaviour: Behaviour, stream: boolean, ...headers: readonly string[]): Promise<RawConnection> {
  const { length } = upstream.requests;
  upstream.next(behaviour);
  const body = JSON.stringify({ model: 'best', stream, messages });
  const connection = await connect(box.url);
  await connection.write(chatHead(box.key, `content-length: ${body.length}`, ...headers) + body);
  await waitFor(() => upstream.requests.length > length);
  return connection;
}

interface Moment {
  readonly name: string;
  readonly stream: boolean;
  readonly behaviour: Behaviour;
  /** The text that the caller has received before it disconnects. */
  readonly seen?: string;
}

const TEXT = ['one ', 'two ', 'three ', 'four'];
/** Moments in the events of a stream. The role is the first event. */
const MOMENTS: readonly Moment[] = [
  { name: 'JSON: before the headers', stream: false, behaviour: { hang: 'headers' } },
  { name: 'JSON: before the body', stream: false, behaviour: { firstChunkAfterMs: 60_000 } },
  { name: 'JSON: in the body', stream: false, behaviour: { raw: ['{"id":"x","choi'], form: 'json', keepOpen: true } },
  { name: 'SSE: before the headers', stream: true, behaviour: { hang: 'headers' } },
  { name: 'SSE: before the first part', stream: true, behaviour: { hang: 0 } },
  { name: 'SSE: among heartbeats', stream: true, behaviour: { hang: 'headers' }, seen: ': waiting' },
  { name: 'SSE: during heartbeats, after the headers', stream: true, behaviour: { hang: 0 }, seen: ': waiting' },
  { name: 'SSE: in the middle', stream: true, behaviour: { text: TEXT, betweenChunksMs: 50 }, seen: 'two ' },
  { name: 'SSE: while the upstream stalls', stream: true, behaviour: { text: TEXT, hang: 3 }, seen: 'two ' },
  {
    name: 'SSE: after all choices are finished, before the usage',
    stream: true,
    behaviour: { text: TEXT, hang: 6 },
    seen: 'four',
  },
];

async function until(connection: RawConnection, seen: string | undefined): Promise<void> {
  if (seen !== undefined) await waitFor(() => connection.received.includes(seen), 4 * COMMIT_MS + 1_000);
}

describe('a caller who disconnects', () => {
  test.each(MOMENTS)('aborts the upstream call: $name', async ({ behaviour, stream, seen }) => {
    const { aborted } = upstream;
    const connection = await ask(behaviour, stream);
    await until(connection, seen);
    // The upstream call was running until now.
    expect(upstream.aborted).toBe(aborted);
    connection.close();
    await waitFor(() => upstream.aborted > aborted, ABORT_MS);
  });

  test('aborts the upstream call even if it had stopped reading and all buffers are full', async () => {
    const { aborted, requests } = upstream;
    const before = requests.length;
    upstream.next({ text: Array.from({ length: 400 }, () => 'x'.repeat(65_536)) });
    const body = JSON.stringify({ model: 'best', stream: true, messages });
    const { hostname, port } = new URL(box.url);
    const socket = connectSlowly(Number(port), hostname, () => {
      socket.pause();
      socket.write(chatHead(box.key, `content-length: ${body.length}`) + body);
    });
    socket.on('error', () => {});
    sockets.push(socket);
    await waitFor(() => requests.length > before);
    // Wait until all buffers are full.
    await quietFor(1_000, 'an abort before the caller had left', () => upstream.aborted > aborted);
    socket.destroy();
    await waitFor(() => upstream.aborted > aborted, ABORT_MS);
  });
});

describe('a caller who disconnects from a request with an `Idempotency-Key`', () => {
  /** Long enough that the test would see an abort. */
  const WHOLE: Behaviour = { text: TEXT, firstChunkAfterMs: 3 * COMMIT_MS, betweenChunksMs: 100 };

  test.each([
    { name: 'JSON', stream: false, seen: undefined },
    { name: 'SSE, before its headers', stream: true, seen: undefined },
    { name: 'SSE, among heartbeats', stream: true, seen: ': waiting' },
    { name: 'SSE, in the middle', stream: true, seen: 'two ' },
  ])('aborts nothing, and gets the complete answer when it repeats the request: $name', async ({ stream, seen }) => {
    const { aborted } = upstream;
    const { length } = upstream.requests;
    const key = `leave-${crypto.randomUUID()}`;
    const connection = await ask(WHOLE, stream, `idempotency-key: ${key}`);
    await until(connection, seen);
    connection.close();
    const again = await waitFor(async () => {
      const response = await box.post(
        '/v1/chat/completions',
        { model: 'best', stream, messages },
        { headers: { 'idempotency-key': key } },
      );
      return response.status === 409 ? null : response;
    });
    expect([again.status, again.headers.get('x-signalbox-replayed')]).toEqual([200, 'true']);
    const text = await again.text();
    for (const piece of stream ? TEXT : [TEXT.join('')]) expect(text).toContain(piece);
    if (stream) expect(text).toEndWith('data: [DONE]\n\n');
    expect(upstream.aborted).toBe(aborted);
    expect(upstream.requests.length).toBe(length + 1);
  });
});
