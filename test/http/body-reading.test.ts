import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Gate } from '../../src/access/limits/gate.ts';
import { BodyReader } from '../../src/http/kit/body-reading.ts';
import { tries } from '../deep/effort.ts';
import { waitFor } from '../support/answers.ts';
import { connect, type RawConnection } from '../support/raw-http.ts';

const READ_MS = 10_000;
const BYTES_MAX = 1_000_000;
const AT_ONCE_MAX = 70_000;

let now = 0;
/** Counts how often the reader has read the clock: once for each body, and once for each check of all open bodies. */
let looks = 0;
const reader = new BodyReader(() => {
  looks++;
  return now;
});
/** Waits until the reader has checked all open bodies twice. */
async function twoLooks(): Promise<void> {
  const before = looks;
  await waitFor(() => looks >= before + 2);
}
/** The gate counts the bytes that have arrived. */
const gate = new Gate(() => now);
const BOUNDS = { concurrencyMax: 100, bodiesBytesMax: 100 * BYTES_MAX, queueMax: 0, queueMs: 0 };
const read: (string | Error)[] = [];
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const announced = Number(request.headers.get('content-length') ?? 0);
    const atOnce = announced <= AT_ONCE_MAX ? announced : 0;
    const place = gate.enter(BOUNDS, 'caller', atOnce);
    const text = await Promise.resolve(reader.text(request, atOnce, BYTES_MAX, place)).catch((error: Error) => error);
    place.leave();
    read.push(text);
    return new Response(String(text));
  },
});
const open: RawConnection[] = [];
afterAll(async () => {
  for (const connection of open) connection.close();
  await server.stop(true);
});

async function send(header: string, body: string): Promise<RawConnection> {
  const connection = await connect(server.url.origin);
  open.push(connection);
  await connection.write(`POST / HTTP/1.1\r\nhost: h\r\n${header}\r\n\r\n${body}`);
  return connection;
}

/** A body that arrives in pieces of these sizes. */
function inPieces(all: Uint8Array<ArrayBuffer>, sizes: readonly number[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...sizes];
  let from = 0;
  return new ReadableStream({
    pull(controller) {
      const size = left.shift();
      if (size === undefined) return controller.close();
      controller.enqueue(all.slice(from, from + size));
      from += size;
    },
  });
}

describe('bodies', () => {
  test('are read completely in one piece or in several, and release their room', async () => {
    const texts = ['', 'a', 'b'.repeat(65_536), 'ü'.repeat(50_000)];
    for (const body of texts) {
      const answer = await fetch(server.url, { method: 'POST', body });
      expect(await answer.text()).toBe(body);
    }
    expect(reader.size).toBe(0);
  });

  test('in pieces of any size are read as the bytes and the text that were sent', async () => {
    const size = fc.oneof(
      fc.nat(64),
      fc.nat(20_000),
      fc.constantFrom(16_384, 16_383, 16_385, 32_768, 1_048_576),
      fc.nat(1_500_000),
    );
    const sizes = fc.array(size, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (pieces, start) => {
        const all = new Uint8Array(pieces.reduce((sum, bytes) => sum + bytes, 0));
        for (let at = 0; at < all.length; at++) all[at] = 32 + ((start + at * 7 + (at >> 8)) % 95);
        const sent = () => new Request(server.url.href, { method: 'POST', body: inPieces(all, pieces) });
        const bytes = await reader.bytes(sent(), 0, all.length, null);
        expect(Buffer.compare(bytes, all)).toBe(0);
        expect(await reader.text(sent(), 0, all.length, null)).toBe(bytes.toString());
      }),
      tries('bodies in pieces are read as they were sent', 25, 2_000),
    );
  });

  test('that do not arrive in time are cut off, each at its own time, and the rest is not read', async () => {
    read.length = 0;
    const first = await send('content-length: 100', '{');
    await waitFor(() => reader.size === 1);
    now += READ_MS / 2;
    await send('content-length: 100', '{');
    await send('transfer-encoding: chunked', '1\r\n{\r\n');
    await waitFor(() => reader.size === 3);
    now += READ_MS / 2;
    await waitFor(() => read.length === 1);
    expect(reader.size).toBe(2);
    await first.write(' '.repeat(99));
    now += READ_MS / 2 + 1;
    await waitFor(() => read.length === 3);
    expect(read.map((error) => error instanceof Error && error.message)).toEqual(
      Array(3).fill('The body arrived too slowly.'),
    );
    expect(reader.size).toBe(0);
  });

  test('get one more second for each 64 KiB that has arrived', async () => {
    read.length = 0;
    const bytes = 131_072;
    const chunk = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;
    const slow = await send('transfer-encoding: chunked', chunk);
    await waitFor(() => reader.size === 1);
    await waitFor(() => gate.bytes === bytes);
    now += READ_MS + 1_999;
    await twoLooks();
    expect(read).toEqual([]);
    await slow.write('1\r\n!\r\n0\r\n\r\n');
    await waitFor(() => read.length === 1);
    expect(read).toEqual([`${' '.repeat(bytes)}!`]);
    expect(reader.size).toBe(0);
  });

  test('that are read in one piece get one more second for each 64 KiB that they announce', async () => {
    read.length = 0;
    await send('content-length: 66000', '{');
    await waitFor(() => reader.size === 1);
    now += READ_MS + 999;
    await twoLooks();
    expect(read).toEqual([]);
    now += 1;
    await waitFor(() => read.length === 1);
    expect(String(read)).toBe('SignalboxError: The body arrived too slowly.');
  });

  test('that are incomplete end with their connection', async () => {
    read.length = 0;
    for (const header of ['content-length: 100', 'transfer-encoding: chunked']) {
      const left = await send(header, header.startsWith('t') ? '1\r\n{\r\n' : '{');
      await waitFor(() => reader.size === 1);
      left.close();
      await waitFor(() => reader.size === 0);
    }
    expect(read.map(String)).toEqual(Array(2).fill('SignalboxError: The body is incomplete: it ended too early.'));
  });
});
