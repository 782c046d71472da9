import { describe, expect, test } from 'bun:test';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { RawRequest } from '../fault/raw-upstream.ts';
import { startBystander } from '../support/bystander.ts';
import { inTime } from '../support/in-time.ts';
import {
  bodyFor,
  COMPRESSED,
  chunk,
  events,
  headOf,
  JSON_CALL,
  nameOf,
  play,
  reply,
  STREAM,
  whole,
  ZIPS,
} from './compressed-support.ts';

describe.each(COMPRESSED)('an answer with %s', (zip) => {
  const encoding = nameOf(zip);
  const invalid = `the answer is not valid ${encoding}: its data is corrupt or incomplete`;
  const malformed = { kind: 'malformed', message: invalid };

  test('that is cut off anywhere is malformed, even if its length is right', async () => {
    const length = ZIPS[zip]!(reply('good')).length;
    for (let cut = 1; cut < length; cut += cut < 12 ? 1 : 7) {
      const { failure } = await play(
        whole(encoding, (request) => ZIPS[zip]!(bodyFor(request, 'good')).subarray(0, -cut)),
        { call: JSON_CALL },
      );
      expect([cut, failure?.kind]).toEqual([cut, 'malformed']);
    }
  });

  test('with invalid data is malformed, and not an empty answer', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const { failure } = await play(
        whole(encoding, (request) => Buffer.from(bodyFor(request, 'good'))),
        { call },
      );
      expect(failure).toMatchObject(malformed);
    }
  });

  test('that has other bytes after it is malformed, in the same piece and in the next', async () => {
    for (const pause of [0, 20]) {
      const { failure } = await play(
        async (connection, request) => {
          const bytes = ZIPS[zip]!(bodyFor(request, 'good'));
          const head = Buffer.from(headOf(request, encoding, bytes.length + 8));
          const tail = Buffer.from('trailing');
          if (pause === 0) return connection.write(Buffer.concat([head, bytes, tail]));
          await connection.write(Buffer.concat([head, bytes]));
          await Bun.sleep(pause);
          return connection.write(tail);
        },
        { call: JSON_CALL },
      );
      expect(failure).toMatchObject(malformed);
    }
  });

  test('whose connection breaks keeps the parts before and is reported as cut', async () => {
    const { text, failure } = await play((connection, request) => {
      const bytes = ZIPS[zip]!(chunk({ content: 'some' }));
      const head = headOf(request, encoding, bytes.length + 100);
      void connection.write(Buffer.concat([Buffer.from(head), bytes])).then(() => setTimeout(connection.end, 20));
    });
    expect([text, failure?.kind]).toEqual(['some', 'cut']);
  });

  test('without a body is an empty answer', async () => {
    const { failure } = await play(
      whole(encoding, () => Buffer.of()),
      { call: STREAM },
    );
    expect(failure).toMatchObject({ kind: 'malformed', message: 'the answer ended without a finish' });
  });

  test('that is an error keeps its status, its message and its wait', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const error = JSON.stringify({ error: { message: 'Slow down, please.', type: 'rate_limit' } });
      const { failure } = await play(
        (connection, request) => {
          const bytes = ZIPS[zip]!(error);
          const head = headOf(request, encoding, bytes.length, '429 Too Many').replace(
            '\r\n\r\n',
            '\r\nretry-after: 7\r\n\r\n',
          );
          return connection.write(Buffer.concat([Buffer.from(head), bytes]));
        },
        { call },
      );
      expect(failure).toMatchObject({ kind: 'rate_limited', status: 429, retryAfterMs: 7_000 });
      expect(failure?.message).toContain('Slow down, please.');
    }
  });
});

test('gzip in several members, and padded with zeros, is read whole', async () => {
  const bytesFor = (request: RawRequest) => {
    const text = bodyFor(request, 'good');
    return Buffer.concat([gzipSync(text.slice(0, 20)), gzipSync(text.slice(20)), Buffer.alloc(16)]);
  };
  expect((await play(whole('gzip', bytesFor))).text).toBe('good');
});

test('an error with an unknown encoding keeps its status', async () => {
  const { failure } = await play(whole('rot13', () => Buffer.from('x'), '503 Busy'));
  expect(failure).toMatchObject({ kind: 'overloaded', status: 503 });
});

describe('a bomb', () => {
  const BOMB = 64 << 20;
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
  const blank = Buffer.alloc(BOMB, '\n');
  /** The blank lines come before the answer, so only a limit prevents the reader from reaching it. */
  const bombs: readonly (readonly [string, (text: string) => Uint8Array])[] = [
    ['gzip', (text) => gzipSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['deflate', (text) => deflateSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['br', (text) => brotliCompressSync(Buffer.concat([blank, Buffer.from(text)]), fast)],
    ['zstd', (text) => zstdCompressSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['gzip, gzip', (text) => gzipSync(gzipSync(Buffer.concat([blank, Buffer.from(text)])))],
    ['br, gzip, zstd', (text) => zstdCompressSync(gzipSync(brotliCompressSync(blank.subarray(text.length), fast)))],
    // The inner layer expands to nothing: empty gzip members, compressed again.
    ['gzip, br', () => brotliCompressSync(Buffer.alloc(BOMB, gzipSync('')), fast)],
  ];

  test.each(bombs)('of `%s` is rejected, and no caller waits for it', async (encoding, zip) => {
    const bytes = zip(events('good'));
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('ok') });
    const bystander = startBystander(`http://127.0.0.1:${other.port}/`);
    try {
      for (const call of [STREAM, JSON_CALL]) {
        await bystander.worstMs();
        const { failure } = await play(
          whole(encoding, () => bytes),
          { call },
        );
        expect(failure).toMatchObject({ kind: 'malformed', message: 'the answer is compressed by more than 250 to 1' });
        expect(await bystander.worstMs()).toBeLessThan(400);
      }
    } finally {
      bystander.stop();
      other.stop(true);
    }
  });

  test.each(bombs.slice(0, 4))('of `%s` as an error keeps the status', async (encoding, zip) => {
    const bytes = zip('');
    await inTime(2_000, async () => {
      const { failure } = await play(whole(encoding, () => bytes, '500 Oops'));
      expect(failure).toMatchObject({ kind: 'server', status: 500 });
    });
  });
});
