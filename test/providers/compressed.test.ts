import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { brotliCompressSync, constants, deflateSync, Gunzip, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { arrived } from '../../src/providers/arrival.ts';
import { decodedReply } from '../../src/providers/decoded-reply.ts';
import { DecoderRoom } from '../../src/providers/decoder-room.ts';
import { listModels } from '../../src/providers/model-list.ts';
import { effort } from '../deep/effort.ts';
import { type RawUpstream, type ServerConnection, startRawUpstream } from '../fault/raw-upstream.ts';
import { failureIn, joinParts, nextBatch, openTo, partsOf, targetOf, textIn } from '../support/provider-call.ts';
import {
  bodyFor,
  COMPRESSED,
  chunk,
  ENCODINGS,
  events,
  FLUSHED,
  flushed,
  headOf,
  JSON_CALL,
  nameOf,
  play,
  reply,
  STREAM,
  USAGE,
  whole,
  ZIPS,
} from './compressed-support.ts';

let upstream: RawUpstream | undefined;
afterEach(() => upstream?.stop());

describe.each(ENCODINGS)('an answer with %s', (zip) => {
  test('is read as JSON and as a stream', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const send = whole(nameOf(zip), (request) => ZIPS[zip]!(bodyFor(request, 'Wörter 💡')));
      const { text, failure } = await play(send, { call });
      expect([text, failure]).toEqual(['Wörter 💡', undefined]);
    }
  });

  test('is the same if it arrives byte by byte', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const { text, failure } = await play(
        async (connection, request) => {
          const bytes = ZIPS[zip]!(bodyFor(request, 'Wörter 💡'));
          await connection.write(headOf(request, nameOf(zip), bytes.length));
          for (const byte of bytes) await connection.write(Uint8Array.of(byte));
        },
        { call },
      );
      expect([text, failure]).toEqual(['Wörter 💡', undefined]);
    }
  });
});

test.each(Object.keys(FLUSHED) as (keyof typeof FLUSHED)[])(
  'each event of a stream with %s can be read before the next one is sent',
  async (zip) => {
    const words = ['one ', 'two ', 'three '];
    const pieces = await flushed(zip, [...words.map((content) => chunk({ content })), chunk({}, 'stop')]);
    let line: ServerConnection | undefined;
    upstream = await startRawUpstream(async (connection, request) => {
      await connection.write(headOf(request, nameOf(zip), null));
      await connection.write(pieces[0]!);
      line = connection;
    });
    const call = openTo(`${upstream.url}/v1`, { call: STREAM });
    for (const [at, word] of words.entries()) {
      expect(textIn((await nextBatch(call)) ?? [])).toBe(word);
      await line?.write(pieces[at + 1]!);
    }
    line?.end();
    expect(failureIn(await partsOf(call))).toBeUndefined();
  },
);

describe('several encodings', () => {
  test.each([
    ['gzip, br', (text: string) => brotliCompressSync(gzipSync(text))],
    ['deflate,ZSTD , identity', (text: string) => zstdCompressSync(deflateSync(text))],
    ['gzip, gzip, gzip', (text: string) => gzipSync(gzipSync(gzipSync(text)))],
    ['identity', (text: string) => Buffer.from(text)],
    ['', (text: string) => Buffer.from(text)],
  ])('are decoded from the last to the first: `%s`', async (header, zip) => {
    const { text, failure } = await play(whole(header, (request) => zip(bodyFor(request, 'good'))));
    expect([text, failure]).toEqual(['good', undefined]);
  });

  test('in two headers count as one list', async () => {
    const { text } = await play((connection, request) => {
      const bytes = brotliCompressSync(gzipSync(bodyFor(request, 'good')));
      const head = headOf(request, 'gzip\r\ncontent-encoding: br', bytes.length);
      return connection.write(Buffer.concat([Buffer.from(head), bytes]));
    });
    expect(text).toBe('good');
  });

  test('are at most three', async () => {
    const { failure } = await play(whole('gzip, gzip, gzip, gzip', () => gzipSync('x')));
    expect(failure).toMatchObject({
      kind: 'malformed',
      message: 'the answer has 4 content-encodings; the maximum is 3',
    });
  });

  test('are rejected if one of them is unknown, with its name', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const { failure } = await play(
        whole('gzip, rot13', () => gzipSync('x')),
        { call },
      );
      expect(failure).toMatchObject({
        kind: 'malformed',
        message: 'the answer has the content-encoding `rot13`; supported are gzip, deflate, br, zstd and identity',
      });
    }
  });
});

test('a small answer is read, however strongly it was compressed', async () => {
  const content = 'ha '.repeat(300_000);
  for (const zip of COMPRESSED) {
    const { text, failure } = await play(
      whole(nameOf(zip), (request) => ZIPS[zip]!(bodyFor(request, content))),
      { call: JSON_CALL },
    );
    expect([zip, text.length, failure]).toEqual([zip, content.length, undefined]);
  }
});

describe('an abort during a compressed stream', () => {
  test.each(Object.keys(FLUSHED) as (keyof typeof FLUSHED)[])(
    'closes the connection at once, and a waiting reader gets the end: %s',
    async (zip) => {
      const [first] = await flushed(zip, [chunk({ content: 'one' })]);
      const gone = Promise.withResolvers<void>();
      upstream = await startRawUpstream(async (connection, request) => {
        await connection.write(headOf(request, nameOf(zip), null));
        await connection.write(first!);
        while (!connection.isGone) await Bun.sleep(5);
        gone.resolve();
      });
      const call = openTo(`${upstream.url}/v1`, { call: STREAM });
      expect(textIn((await nextBatch(call)) ?? [])).toBe('one');
      const waiting = nextBatch(call);
      call.abort();
      expect(await waiting).toBeNull();
      await gone.promise;
    },
  );
});

test('a call that is cancelled frees the decoder, although decoded bytes still wait for a reader', async () => {
  const destroyed = spyOn(Gunzip.prototype, 'destroy');
  try {
    const bytes = gzipSync(Buffer.alloc(200_000, 'word '));
    let isCancelled = false;
    const reply = decodedReply({
      status: 200,
      headers: new Headers(),
      header: () => 'gzip',
      read: () => bytes,
      cancel() {
        isCancelled = true;
      },
    });
    const first = await arrived(() => reply.read());
    expect(first?.length).toBeWithin(1, 20_000);
    expect(destroyed).not.toHaveBeenCalled();
    reply.cancel();
    expect(destroyed).toHaveBeenCalled();
    expect(isCancelled).toBe(true);
    expect(() => reply.read()).toThrow('aborted');
  } finally {
    destroyed.mockRestore();
  }
});

test('however compressed answers end, they release the memory of their decoders', async () => {
  const room = new DecoderRoom();
  const wide = { params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 4 } };
  const [good, bomb] = ['good', 'x'.repeat(2_000_000)].map((text) => brotliCompressSync(text, wide));
  const replyOf = (bytes: Uint8Array, header = 'br') => {
    const pieces = [bytes];
    const inner = { status: 200, headers: new Headers(), header: () => header, cancel() {} };
    return decodedReply({ ...inner, read: () => pieces.shift() ?? null }, room);
  };
  const read = async (reply: ReturnType<typeof replyOf>) => {
    let text = '';
    for (let piece = await arrived(() => reply.read()); piece; piece = await arrived(() => reply.read()))
      text += Buffer.from(piece).toString();
    return text;
  };
  const ends: readonly (() => Promise<unknown>)[] = [
    () => read(replyOf(good!)),
    () => read(replyOf(bomb!)),
    () => read(replyOf(good!.subarray(0, -1))),
    () => read(replyOf(brotliCompressSync(good!, wide), 'br, br')),
    () => read(replyOf(good!, 'br, br')),
    async () => {
      const reply = replyOf(bomb!);
      await arrived(() => reply.read());
      reply.cancel();
    },
    async () => {
      const reply = replyOf(good!);
      const reading = read(reply);
      reply.cancel();
      await reading;
    },
  ];
  // There is room for seven decoders of this kind, so most of these answers wait.
  for (const end of ends) await Promise.allSettled(Array.from({ length: 20 }, end));
  expect(await read(replyOf(good!))).toBe('good');
});

test('through a proxy, and for a list of models, compressed answers are also read', async () => {
  const list = JSON.stringify({ object: 'list', data: [{ id: 'a-model', object: 'model' }] });
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const asked = await request.text();
      const [body, type] = request.url.endsWith('/models')
        ? [list, 'application/json']
        : [asked.includes('"stream":true') ? events('good') : reply('good'), 'text/event-stream'];
      const isJson = body.startsWith('{');
      const headers = { 'content-type': isJson ? 'application/json' : type, 'content-encoding': 'br' };
      return new Response(new Uint8Array(brotliCompressSync(body)), { headers });
    },
  });
  try {
    const url = `http://127.0.0.1:${server.port}/v1`;
    const models = await listModels(targetOf(url));
    expect(models?.map(({ id }) => id)).toEqual(['a-model']);
    // A proxy receives the full URL of a request, so the server can act as both proxy and provider.
    const env = { http_proxy: `http://127.0.0.1:${server.port}` };
    for (const call of [STREAM, JSON_CALL]) {
      const parts = await partsOf(openTo('http://provider.example/v1', { call, env }));
      expect([textIn(parts), failureIn(parts)]).toEqual(['good', undefined]);
    }
  } finally {
    server.stop(true);
  }
});

/** Splits bytes at positions given as shares from 0 to 1. */
function splitAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [...places.map((place) => Math.floor(place * bytes.length)), bytes.length].sort((a, b) => a - b);
  return cuts.map((end, at) => bytes.subarray(at === 0 ? 0 : cuts[at - 1], end));
}

describe('any split of any encodings of an answer', () => {
  const { runs, seed, proved } = effort('holes', 60, 3_000);
  const layers = fc.array(fc.constantFrom(...ENCODINGS), { maxLength: 3 });
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
  const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }), { minLength: 1, maxLength: 6 });

  test('produces the parts of the uncompressed answer', async () => {
    let body = { stream: '', json: '' };
    let zips: readonly string[] = [];
    let cuts: readonly number[] = [];
    upstream = await startRawUpstream(async (connection, request) => {
      const plain = Buffer.from(request.body.stream ? body.stream : body.json);
      const bytes = zips.reduce<Uint8Array>((data, zip) => ZIPS[zip]!(data), plain);
      const chunks = splitAt(bytes, cuts).filter(({ length }) => length > 0);
      await connection.write(headOf(request, zips.map(nameOf).join(', '), bytes.length));
      for (const one of chunks) await connection.write(one);
    });
    const url = `${upstream.url}/v1`;
    const read = async (stream: boolean) =>
      joinParts(await partsOf(openTo(url, { call: stream ? STREAM : JSON_CALL })));
    await fc.assert(
      fc.asyncProperty(texts, layers, places, fc.boolean(), async (said, wanted, at, stream) => {
        body = {
          stream: said.map((content) => chunk({ content })).join('') + chunk({}, 'stop', { usage: USAGE }),
          json: reply(said.join('')),
        };
        [zips, cuts] = [[], []];
        const plain = await read(stream);
        expect(plain.at(-1)?.type).toBe('usage');
        [zips, cuts] = [wanted, at];
        expect(await read(stream)).toEqual(plain);
      }),
      { numRuns: runs, seed },
    );
    proved(`${runs} answers in up to three encodings, split anywhere: the same parts as without encoding`);
  });
});
