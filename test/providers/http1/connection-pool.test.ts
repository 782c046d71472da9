import { afterEach, describe, expect, test } from 'bun:test';
import { arrived } from '../../../src/providers/arrival.ts';
import { ConnectionPool } from '../../../src/providers/http1/connection-pool.ts';
import type { PendingReply, UpstreamReply } from '../../../src/providers/reply.ts';
import { waitFor } from '../../support/answers.ts';
import { startFlood } from '../../support/flood.ts';
import { startCrowded } from '../connection/stuck.ts';

/** A connection as the server sees it. */
interface ServerSide {
  /** Everything that was received. */
  text: string;
  closed: boolean;
  readonly socket: Bun.Socket<ServerSide>;
}

const poolTo = (port: number) => new ConnectionPool(`http://127.0.0.1:${port}/v1`, { servername: null, stream: true });

type Play = (connection: ServerSide) => void;

/** Starts a TCP server that calls `play` after every complete request. */
function serve(play: Play) {
  const connections: ServerSide[] = [];
  const server = Bun.listen<ServerSide>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '', closed: false, socket };
        connections.push(socket.data);
      },
      data(socket, bytes) {
        socket.data.text += bytes.toString('latin1');
        if (isWhole(socket.data.text)) play(socket.data);
      },
      close: ({ data }) => {
        data.closed = true;
      },
      error() {},
    },
  });
  cleanUp.push(() => server.stop(true));
  return {
    connections,
    pool: poolTo(server.port),
    host: `127.0.0.1:${server.port}`,
  };
}

/** Returns whether the last request of a connection is complete. */
function isWhole(text: string): boolean {
  const start = text.lastIndexOf('POST ');
  const end = text.indexOf('\r\n\r\n', start);
  return end >= 0 && text.length - end - 4 >= Number(/content-length: (\d+)/.exec(text.slice(start))![1]);
}

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const run of cleanUp.splice(0)) run();
});

const HELLO = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello';

const send = (pool: ConnectionPool, body = '{}', onConnected = () => {}): PendingReply =>
  pool.post('/chat?x=1', {
    headers: new Headers({ 'content-type': 'application/json', authorization: 'Bearer key' }),
    body,
    onConnected,
  });
const replyOf = (pending: PendingReply): Promise<UpstreamReply> => arrived(() => pending.reply());
const pieceOf = (reply: UpstreamReply): Promise<Uint8Array | null> => arrived(() => reply.read());
const post = (...args: Parameters<typeof send>): Promise<UpstreamReply> => replyOf(send(...args));
async function bytesOf(reply: UpstreamReply): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let piece = await pieceOf(reply); piece; piece = await pieceOf(reply)) pieces.push(piece);
  return Buffer.concat(pieces);
}
const textOf = async (reply: UpstreamReply): Promise<string> => (await bytesOf(reply)).toString();
const again = async (pool: ConnectionPool): Promise<string> => textOf(await post(pool));
const nameOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: unknown) => (error as Error).name);
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : String(error)),
  );

describe('a request', () => {
  test('is sent as complete HTTP, without extra headers', async () => {
    const { pool, connections, host } = serve(({ socket }) => socket.write(HELLO));
    const response = await post(pool, '{"ü":1}');
    expect([response.status, await textOf(response)]).toEqual([200, 'hello']);
    const [head, body] = connections[0]!.text.split('\r\n\r\n');
    expect(head!.split('\r\n').sort()).toEqual([
      'POST /v1/chat?x=1 HTTP/1.1',
      'authorization: Bearer key',
      'content-length: 8',
      'content-type: application/json',
      `host: ${host}`,
    ]);
    expect(Buffer.from(body!, 'latin1').toString()).toBe('{"ü":1}');
  });

  test('with many megabytes is sent to a slow server', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(HELLO));
    const body = 'x'.repeat(20_000_000);
    let connected = 0;
    const response = await post(pool, body, () => connected++);
    expect(await textOf(response)).toBe('hello');
    expect([connections[0]!.text.length > body.length, connected]).toEqual([true, 1]);
  });

  test('to a closed port fails and counts as never sent', async () => {
    const { pool } = serve(() => {});
    for (const run of cleanUp.splice(0)) run();
    let connected = 0;
    expect(await codeOf(post(pool, '{}', () => connected++))).toBe('ECONNREFUSED');
    expect(connected).toBe(0);
  });
});

describe('a connection', () => {
  test('carries sequential requests; each concurrent request has its own', async () => {
    const { pool, connections } = serve(({ socket }) => setTimeout(() => socket.write(HELLO), 20));
    for (let i = 0; i < 3; i++) expect(await again(pool)).toBe('hello');
    expect(connections).toHaveLength(1);
    const answers = await Promise.all(Array.from({ length: 4 }, () => again(pool)));
    expect([answers, connections.length, pool.idle]).toEqual([Array(4).fill('hello'), 4, 4]);
  });

  test.each([
    ['says that it closes', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello'],
    ['has more than an answer', `${HELLO}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nnot me`],
    [
      'has two kinds of length',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
  ])('whose answer %s carries no other request', async (_, bytes) => {
    const { pool, connections } = serve(({ socket }) => socket.write(bytes));
    for (let i = 0; i < 2; i++) expect(await again(pool)).toBe('hello');
    expect([connections.length, pool.idle]).toEqual([2, 0]);
    await waitFor(() => connections.every(({ closed }) => closed));
  });

  test('with unsolicited bytes is closed', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(HELLO));
    await again(pool);
    connections[0]!.socket.write(HELLO);
    await waitFor(() => connections[0]!.closed);
    expect(pool.idle).toBe(0);
  });

  test('that was closed while idle is not reused', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(HELLO));
    for (let i = 1; i <= 3; i++) {
      expect(await again(pool)).toBe('hello');
      expect(connections).toHaveLength(i);
      connections.at(-1)!.socket.end();
    }
  });
});

describe('an answer', () => {
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

  test('that breaks off returns all received bytes, then the error', async () => {
    const { pool } = serve(({ socket }) => {
      socket.write(`${chunked}5\r\nhello\r\n`);
      setTimeout(() => socket.terminate(), 50);
    });
    const reply = await post(pool);
    expect(Buffer.from((await pieceOf(reply))!).toString()).toBe('hello');
    expect(await codeOf(pieceOf(reply))).toBe('ECONNRESET');
  });

  test('that ends early is an error', async () => {
    const { pool } = serve(({ socket }) => socket.end(`${chunked}5\r\nhello\r\n`));
    expect(await codeOf(again(pool))).toBe('ECONNRESET');
    const whole = serve(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'));
    expect(await again(whole.pool)).toBe('hello');
  });

  test('whose head arrives in many pieces wakes its reader once it is complete', async () => {
    const { pool } = serve(async ({ socket }) => {
      for (const piece of HELLO.match(/.{1,3}/gs) ?? []) {
        socket.write(piece);
        await Bun.sleep(2);
      }
    });
    const pending = send(pool);
    await pending.reply();
    const reply = pending.reply();
    expect(reply instanceof Promise ? 'woken too early' : reply.status).toBe(200);
  });

  test('that is not HTTP is rejected', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'));
    expect(await codeOf(post(pool))).toBe('BadReply');
    await waitFor(() => connections[0]!.closed);
  });

  test('that is compressed is passed on unchanged', async () => {
    const zipped = Buffer.from(Bun.gzipSync('hello'));
    const { pool } = serve(({ socket }) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zipped.length}\r\n\r\n`;
      socket.write(Buffer.concat([Buffer.from(head, 'latin1'), zipped]));
    });
    expect(await bytesOf(await post(pool))).toEqual(zipped);
  });

  test('that is not read blocks its sender, and is complete once it is read', async () => {
    const bytes = 30_000_000;
    const flood = startFlood({ contentType: 'text/event-stream', piece: 'x'.repeat(1_000), bytes });
    cleanUp.push(flood.stop);
    const pool = poolTo(Number(new URL(flood.url).port));
    const response = await post(pool);
    for (let before = -1; flood.sent[0] !== before; await Bun.sleep(200)) before = flood.sent[0]!;
    // The kernel's buffers take the rest.
    expect(flood.sent[0]).toBeLessThan(bytes / 2);
    expect((await bytesOf(response)).length).toBeGreaterThanOrEqual(bytes - 100_000);
  });
});

describe('a server that never accepts', () => {
  test('costs a limited number of file descriptors for abandoned connections', async () => {
    const crowded = await startCrowded();
    cleanUp.push(crowded.stop);
    const pool = poolTo(crowded.port);
    const abandon = async (count: number) => {
      const all = Array.from({ length: count }, () => send(pool));
      for (const pending of all) pending.abort();
      await Promise.all(all.map((pending) => codeOf(replyOf(pending))));
    };
    await abandon(63);
    expect(pool.isStuck).toBeFalse();
    await abandon(1);
    expect(pool.isStuck).toBeTrue();
  });
});

describe('an abort', () => {
  test.each([
    ['before there is a connection', 0],
    ['before the head', 50],
  ])('%s closes the connection at once', async (_, afterMs) => {
    const { pool, connections } = serve(() => {});
    const pending = send(pool);
    const name = nameOf(replyOf(pending));
    if (afterMs > 0) await waitFor(() => connections[0]?.text);
    pending.abort();
    expect(await name).toBe('AbortError');
    await waitFor(() => connections.every(({ closed }) => closed));
    expect(pool.idle).toBe(0);
  });

  test('in the middle of an answer also closes the connection; after its end nothing is closed', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(`${HELLO.slice(0, -2)}`));
    const pending = send(pool);
    const reply = await replyOf(pending);
    await pieceOf(reply);
    const rest = nameOf(pieceOf(reply));
    pending.abort();
    expect(await rest).toBe('AbortError');
    await waitFor(() => connections[0]!.closed);

    const good = serve(({ socket }) => socket.write(HELLO));
    const late = send(good.pool);
    await textOf(await replyOf(late));
    late.abort();
    await again(good.pool);
    expect(good.connections).toHaveLength(1);
  });

  test('before the request sends nothing', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(HELLO));
    const pending = send(pool, '"aborted"');
    pending.abort();
    expect(await nameOf(replyOf(pending))).toBe('AbortError');
    // The request would have arrived before the next one.
    expect(await again(pool)).toBe('hello');
    await waitFor(() => connections.filter(({ closed }) => !closed).length === 1);
    expect(connections.map(({ text }) => text).join('')).not.toContain('"aborted"');
  });

  test('by the reader closes the connection', async () => {
    const { pool, connections } = serve(({ socket }) => socket.write(HELLO.slice(0, -1)));
    (await post(pool)).cancel();
    await waitFor(() => connections[0]!.closed);
  });
});
