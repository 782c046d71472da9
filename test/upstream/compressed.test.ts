import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  Gunzip,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import fc from 'fast-check';
import { arrived } from '../../src/upstream/arrival.ts';
import { decodedReply } from '../../src/upstream/decoded-reply.ts';
import { listModels } from '../../src/upstream/model-list.ts';
import { effort } from '../deep/effort.ts';
import { type RawRequest, type RawUpstream, type ServerConnection, startRawUpstream } from '../fault/raw-upstream.ts';
import { startBystander } from '../support/bystander.ts';
import { inTime } from '../support/in-time.ts';
import {
  type CallOptions,
  failureIn,
  joinParts,
  nextBatch,
  openTo,
  partsOf,
  providerCall,
  targetOf,
  textIn,
} from '../support/provider-call.ts';

/** Providers that compress their answers, although every call requests `identity`. */
let upstream: RawUpstream | undefined;
afterEach(() => upstream?.stop());

type Send = (connection: ServerConnection, request: RawRequest) => unknown;

const STREAM = providerCall();
const JSON_CALL = providerCall({}, { stream: false });
const USAGE = { prompt_tokens: 3, completion_tokens: 2 };
const chunk = (delta: object, finish: string | null = null, rest: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
const events = (content: string) => chunk({ content }) + chunk({}, 'stop', { usage: USAGE });
const reply = (content: string) =>
  JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage: USAGE });
const bodyFor = ({ body }: RawRequest, content: string) => (body.stream ? events(content) : reply(content));

const typeOf = ({ body }: RawRequest) => (body.stream ? 'text/event-stream' : 'application/json');
function headOf(request: RawRequest, encoding: string, length: number | null, status = '200 OK'): string {
  const framing = length === null ? 'connection: close' : `content-length: ${length}`;
  return `HTTP/1.1 ${status}\r\ncontent-type: ${typeOf(request)}\r\ncontent-encoding: ${encoding}\r\n${framing}\r\n\r\n`;
}

async function play(send: Send, options: CallOptions = {}) {
  upstream?.stop();
  upstream = await startRawUpstream(send);
  const parts = await partsOf(openTo(`http://127.0.0.1:${upstream.port}/v1`, options));
  return { parts, text: textIn(parts), failure: failureIn(parts) };
}

/** Sends a whole body with an encoding. */
const whole =
  (encoding: string, bytesFor: (request: RawRequest) => Uint8Array, status?: string): Send =>
  (connection, request) => {
    const bytes = bytesFor(request);
    return connection.write(Buffer.concat([Buffer.from(headOf(request, encoding, bytes.length, status)), bytes]));
  };

const ZIPS: Readonly<Record<string, (text: string | Uint8Array) => Buffer>> = {
  gzip: (text) => gzipSync(text),
  'x-gzip': (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  'deflate without zlib’s header': (text) => deflateRawSync(text),
  br: (text) => brotliCompressSync(text),
  zstd: (text) => zstdCompressSync(text),
  identity: (text) => Buffer.from(text),
};
const ENCODINGS = Object.keys(ZIPS);
const nameOf = (zip: string) => zip.split(' ')[0]!;
const COMPRESSED = ENCODINGS.filter((name) => name !== 'identity');

describe.each(ENCODINGS)('an answer with %s', (zip) => {
  test('is read as JSON and as a stream', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const send = whole(nameOf(zip), (request) => ZIPS[zip]!(bodyFor(request, 'Wörter 💡')));
      const { text, failure } = await play(send, { call });
      expect([text, failure]).toEqual(['Wörter 💡', undefined]);
    }
  });

  test('that arrives byte by byte is the same', async () => {
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

const FLUSHED = {
  gzip: [createGzip, constants.Z_SYNC_FLUSH],
  deflate: [createDeflate, constants.Z_SYNC_FLUSH],
  'deflate without zlib’s header': [createDeflateRaw, constants.Z_SYNC_FLUSH],
  br: [createBrotliCompress, constants.BROTLI_OPERATION_FLUSH],
  zstd: [createZstdCompress, constants.ZSTD_e_flush],
} as const;

/** Compresses each piece so that it can be read before the next one. */
async function flushed(zip: keyof typeof FLUSHED, pieces: readonly string[]): Promise<Buffer[]> {
  const [create, flush] = FLUSHED[zip];
  const encoder = create();
  const made: Buffer[] = [];
  let out: Buffer[] = [];
  encoder.on('data', (bytes: Buffer) => out.push(bytes));
  for (const piece of pieces) {
    encoder.write(piece);
    await new Promise<void>((done) => encoder.flush(flush, () => done()));
    await new Promise((done) => setImmediate(done));
    made.push(Buffer.concat(out));
    out = [];
  }
  await new Promise((done) => encoder.on('end', done).end());
  return [...made, Buffer.concat(out)];
}

test.each(Object.keys(FLUSHED) as (keyof typeof FLUSHED)[])(
  'each event of a stream with %s comes out before the next one is sent',
  async (zip) => {
    const words = ['one ', 'two ', 'three '];
    const pieces = await flushed(zip, [...words.map((content) => chunk({ content })), chunk({}, 'stop')]);
    let line: ServerConnection | undefined;
    upstream = await startRawUpstream(async (connection, request) => {
      await connection.write(headOf(request, nameOf(zip), null));
      await connection.write(pieces[0]!);
      line = connection;
    });
    const call = openTo(`http://127.0.0.1:${upstream.port}/v1`, { call: STREAM });
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
  ])('are undone from the last to the first: `%s`', async (header, zip) => {
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
      message: 'the answer has 4 content-encodings: at most 3 are decoded',
    });
  });

  test('of which one is unknown are refused by its name', async () => {
    for (const call of [STREAM, JSON_CALL]) {
      const { failure } = await play(
        whole('gzip, rot13', () => gzipSync('x')),
        { call },
      );
      expect(failure).toMatchObject({
        kind: 'malformed',
        message:
          'the answer has the content-encoding `rot13`: only gzip, deflate, br, zstd and identity can be decoded',
      });
    }
  });
});

describe.each(COMPRESSED)('an answer with %s', (zip) => {
  const encoding = nameOf(zip);
  const invalid = `the answer is not valid ${encoding}: its data is corrupt or incomplete`;
  const malformed = { kind: 'malformed', message: invalid };

  test('that is cut anywhere is malformed, although its length is right', async () => {
    const length = ZIPS[zip]!(reply('good')).length;
    for (let cut = 1; cut < length; cut += cut < 12 ? 1 : 7) {
      const { failure } = await play(
        whole(encoding, (request) => ZIPS[zip]!(bodyFor(request, 'good')).subarray(0, -cut)),
        { call: JSON_CALL },
      );
      expect([cut, failure?.kind]).toEqual([cut, 'malformed']);
    }
  });

  test('that is no such data is malformed, and not an empty answer', async () => {
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

  test('that breaks off on the wire keeps what came before and is cut', async () => {
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

  test('that is an error keeps its status, its message and its pause', async () => {
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

test('an error with an encoding that is not known keeps its status', async () => {
  const { failure } = await play(whole('rot13', () => Buffer.from('x'), '503 Busy'));
  expect(failure).toMatchObject({ kind: 'overloaded', status: 503 });
});

describe('a bomb', () => {
  const BOMB = 64 << 20;
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
  const blank = Buffer.alloc(BOMB, '\n');
  /** The blank lines come before the answer, so that only a limit keeps it from being read. */
  const bombs: readonly (readonly [string, (text: string) => Uint8Array])[] = [
    ['gzip', (text) => gzipSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['deflate', (text) => deflateSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['br', (text) => brotliCompressSync(Buffer.concat([blank, Buffer.from(text)]), fast)],
    ['zstd', (text) => zstdCompressSync(Buffer.concat([blank, Buffer.from(text)]))],
    ['gzip, gzip', (text) => gzipSync(gzipSync(Buffer.concat([blank, Buffer.from(text)])))],
    ['br, gzip, zstd', (text) => zstdCompressSync(gzipSync(brotliCompressSync(blank.subarray(text.length), fast)))],
    // An inner layer that expands to nothing: empty members of gzip, compressed again.
    ['gzip, br', () => brotliCompressSync(Buffer.alloc(BOMB, gzipSync('')), fast)],
  ];

  test.each(bombs)('of `%s` is refused, and nobody waits for it', async (encoding, zip) => {
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

test('a small answer is read, however much it was compressed', async () => {
  const content = 'ha '.repeat(300_000);
  for (const zip of COMPRESSED) {
    const { text, failure } = await play(
      whole(nameOf(zip), (request) => ZIPS[zip]!(bodyFor(request, content))),
      { call: JSON_CALL },
    );
    expect([zip, text.length, failure]).toEqual([zip, content.length, undefined]);
  }
});

describe('an abort amid a compressed stream', () => {
  test.each(Object.keys(FLUSHED) as (keyof typeof FLUSHED)[])(
    'closes the connection at once, and a reader that waits gets the end: %s',
    async (zip) => {
      const [first] = await flushed(zip, [chunk({ content: 'one' })]);
      const gone = Promise.withResolvers<void>();
      upstream = await startRawUpstream(async (connection, request) => {
        await connection.write(headOf(request, nameOf(zip), null));
        await connection.write(first!);
        while (!connection.isGone) await Bun.sleep(5);
        gone.resolve();
      });
      const call = openTo(`http://127.0.0.1:${upstream.port}/v1`, { call: STREAM });
      expect(textIn((await nextBatch(call)) ?? [])).toBe('one');
      const waiting = nextBatch(call);
      call.abort();
      expect(await waiting).toBeNull();
      await gone.promise;
    },
  );
});

test('a call that is given up frees the decoder, although decoded bytes still wait for a reader', async () => {
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

test('through a proxy, and for a list of models, compressed answers are read, too', async () => {
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
    // A proxy gets the whole address of a request, so that the server can play both.
    const env = { http_proxy: `http://127.0.0.1:${server.port}` };
    for (const call of [STREAM, JSON_CALL]) {
      const parts = await partsOf(openTo('http://provider.example/v1', { call, env }));
      expect([textIn(parts), failureIn(parts)]).toEqual(['good', undefined]);
    }
  } finally {
    server.stop(true);
  }
});

/** Splits bytes at places from 0 to 1. */
function splitAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [...places.map((place) => Math.floor(place * bytes.length)), bytes.length].sort((a, b) => a - b);
  return cuts.map((end, at) => bytes.subarray(at === 0 ? 0 : cuts[at - 1], end));
}

describe('any split of any encodings of an answer', () => {
  const { runs, seed, proved } = effort('compressed', 60, 3_000);
  const layers = fc.array(fc.constantFrom(...ENCODINGS), { maxLength: 3 });
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
  const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }), { minLength: 1, maxLength: 6 });

  test('gives the parts of the plain answer', async () => {
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
    const url = `http://127.0.0.1:${upstream.port}/v1`;
    const read = async (stream: boolean) => joinParts(await partsOf(openTo(url, { call: stream ? STREAM : JSON_CALL })));
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
  }, 600_000);
});
