import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BadReply, ReplyParser } from '../../../src/providers/http1/reply-parser.ts';
import { tries } from '../../deep/effort.ts';
import { split } from '../../property/stream-text.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';

const { numRuns, seed } = tries('a reply, split anywhere, is read the same', 200, 20_000);

interface Read {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ended: boolean;
  readonly keepAlive: boolean;
}

/** Parses an answer from pieces, and optionally the end of its connection. */
function read(pieces: readonly Uint8Array[], { closes = false } = {}): Read {
  const parser = new ReplyParser();
  const body = pieces.flatMap((piece) => parser.push(Buffer.from(piece)) ?? []);
  if (closes) parser.close();
  return {
    status: parser.head?.status,
    headers: Object.fromEntries(parser.head?.headers() ?? []),
    body: Buffer.concat(body).toString(),
    ended: parser.ended,
    keepAlive: parser.keepAlive,
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const answer = (head: readonly string[], body = '') => bytes(`${head.join('\r\n')}\r\n\r\n${body}`);
const OK = 'HTTP/1.1 200 OK';
const CHUNKED = 'transfer-encoding: chunked';

describe('an answer', () => {
  test.each<[name: string, bytes: Uint8Array, expected: Partial<Read>]>([
    ['with a length', answer([OK, 'Content-Length: 5'], 'hello'), { status: 200, body: 'hello', ended: true }],
    ['with a length stated twice', answer([OK, 'Content-Length: 5, 5'], 'hello'), { body: 'hello', ended: true }],
    ['without a body', answer(['HTTP/1.1 204 No Content']), { status: 204, body: '', ended: true, keepAlive: true }],
    ['of length 0', answer([OK, 'content-length: 0']), { ended: true, keepAlive: true }],
    ['in chunks', answer([OK, CHUNKED], '3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n'), { body: 'hello', ended: true }],
    [
      'in chunks with extensions, trailers and sizes in any case',
      answer([OK, CHUNKED], 'A;x="y"\r\n0123456789\r\n00\r\ntrailer: 1\r\n\r\n'),
      { body: '0123456789', ended: true, keepAlive: true },
    ],
    [
      'behind interim ones',
      answer(['HTTP/1.1 100 Continue', '', 'HTTP/1.1 103 Early Hints', 'x: 1', '', OK, 'content-length: 1'], '!'),
      { status: 200, headers: { 'content-length': '1' }, body: '!', ended: true },
    ],
    ['without a reason', answer(['HTTP/1.1 503', 'content-length: 1'], '!'), { status: 503, body: '!' }],
    ['whose lines end with LF alone', bytes(`${OK}\ncontent-length: 1\n\n!`), { body: '!', ended: true }],
    ['that is not complete', answer([OK, 'content-length: 9'], 'hello'), { body: 'hello', ended: false }],
    ['in chunks that is not complete', answer([OK, CHUNKED], '5\r\nhello\r\n'), { body: 'hello', ended: false }],
    ['without a length', answer([OK], 'hello'), { body: 'hello', ended: false }],
    ['that closes', answer([OK, 'connection: close', 'content-length: 1'], '!'), { ended: true, keepAlive: false }],
    ['of HTTP/1.0', answer(['HTTP/1.0 200 OK', 'content-length: 1'], '!'), { ended: true, keepAlive: false }],
    [
      'with two kinds of length',
      answer([OK, CHUNKED, 'content-length: 9'], '1\r\n!\r\n0\r\n\r\n'),
      { keepAlive: false },
    ],
    [
      'with more bytes after it',
      answer([OK, 'content-length: 1'], '!HTTP/1.1 200 OK'),
      { body: '!', keepAlive: false },
    ],
  ])('%s', (_, given, expected) => {
    expect(read([given])).toMatchObject(expected);
  });

  test('without a length ends with its connection; with a length, an early end of the connection cuts it', () => {
    expect(read([answer([OK], 'hello')], { closes: true })).toMatchObject({
      body: 'hello',
      ended: true,
      keepAlive: false,
    });
    expect(read([answer([OK, 'content-length: 9'], 'hello')], { closes: true }).ended).toBeFalse();
    expect(read([answer([OK, CHUNKED], '5\r\nhello\r\n')], { closes: true }).ended).toBeFalse();
  });

  test.each<[name: string, bytes: Uint8Array]>([
    ['is no HTTP', bytes('SSH-2.0-OpenSSH_9.6\r\n')],
    ['has an invalid status', answer(['HTTP/1.1 600 x', 'content-length: 0'])],
    ['is HTTP/2', bytes('HTTP/2 200\r\n\r\n')],
    ['changes the protocol', answer(['HTTP/1.1 101 Switching Protocols', 'upgrade: x'])],
    ['has two lengths', answer([OK, 'content-length: 1', 'content-length: 2'])],
    ['has an invalid length', answer([OK, 'content-length: -1'])],
    ['has a coding that was not requested', answer([OK, 'transfer-encoding: gzip, chunked'])],
    ['has a header without a name', answer([OK, ': x'])],
    ['has a header without a colon', answer([OK, 'content-length 5'])],
    ['folds a header', answer([OK, 'x: 1', '\tcontent-length: 1'])],
    ['has a space before the colon', answer([OK, 'content-length : 1'])],
    ['has a chunk without a size', answer([OK, CHUNKED], 'hello\r\n')],
    ['has a chunk of no finite size', answer([OK, CHUNKED], `${'f'.repeat(13)}\r\n`)],
    ['has a chunk that is longer than its size', answer([OK, CHUNKED], '1\r\nhello\r\n')],
    ['has a head without an end', bytes(`${OK}\r\n${'x: yyyyyyyyyyyyyyyyyyyyyyyyyy\r\n'.repeat(4_000)}`)],
    ['has a line without an end', bytes(`${OK}\r\nx: ${'y'.repeat(100_000)}`)],
    ['has interim answers without an end', bytes('HTTP/1.1 100 Continue\r\n\r\n'.repeat(4_000))],
    ['has a size without an end', answer([OK, CHUNKED], `1;${'x'.repeat(2_000)}`)],
  ])('that %s is refused', (_, given) => {
    expect(() => read([given])).toThrow(BadReply);
  });
});

const text = fc.string({ unit: anyCodePoint, maxLength: 40 });
const heads = fc.constantFrom<readonly string[]>([OK], ['HTTP/1.1 100 Continue', '', OK], [OK, 'x-a: 1', 'X-B:2']);
/** Complete answers, with a length and in chunks. */
const answers = fc.oneof(
  fc.tuple(heads, text).map(([head, body]) => answer([...head, `content-length: ${bytes(body).length}`], body)),
  fc.tuple(heads, fc.array(text)).map(([head, chunks]) => {
    const framed = chunks
      .filter((chunk) => chunk !== '')
      .map((chunk) => `${bytes(chunk).length.toString(16)}\r\n${chunk}\r\n`);
    return answer([...head, CHUNKED], `${framed.join('')}0\r\n\r\n`);
  }),
);

/**
 * Lines of heads, valid and malformed, with their line ends. A head that has arrived completely is read at once, any other line by line.
 */
const headLine = fc.tuple(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('x: 1', 'X-A:2', 'x:', 'connection: Close', 'x-é: 1', 'x: é\u00a0') },
    { weight: 2, arbitrary: fc.constantFrom('content-length: 1', 'Content-Length:1', CHUNKED) },
    { weight: 1, arbitrary: fc.constantFrom('', ' x: 1', 'x : 1', ': 1', 'x', 'x: 1\r', 'x: \0', '\r', OK) },
  ),
  fc.oneof({ weight: 12, arbitrary: fc.constant('\r\n') }, { weight: 1, arbitrary: fc.constant('\n') }),
);
const anyHead = fc
  .tuple(
    fc.constantFrom(`${OK}\r\n`, 'HTTP/1.1 200\r\n', `${OK}\n`, '\n', 'HTTP/1.1 103 x\r\n\r\n'),
    fc.array(headLine),
  )
  .map(([first, lines]) => Buffer.from(`${first}${lines.flat().join('')}\r\n!`, 'latin1'));

/** Returns the answer, or that it was rejected. */
const readOrRefused = (pieces: readonly Uint8Array[]): Read | 'refused' => {
  try {
    return read(pieces);
  } catch (error) {
    if (error instanceof BadReply) return 'refused';
    throw error;
  }
};

const anyWholeHead = (readsWhole: typeof readOrRefused) =>
  fc.property(anyHead, (given) => {
    const bytewise = Array.from(given, (_, at) => given.subarray(at, at + 1));
    expect(readsWhole([given])).toEqual(readOrRefused(bytewise));
  });

const anySplit = (reading: typeof read) =>
  fc.property(answers, fc.array(fc.nat(400), { maxLength: 20 }), (given, cuts) => {
    const whole = read([given]);
    expect(whole).toMatchObject({ status: 200, ended: true, keepAlive: true });
    expect(reading(split(given, cuts))).toEqual(whole);
  });

describe('any head', () => {
  test(`that has arrived completely is read like one that arrives byte by byte (seed ${seed})`, () => {
    fc.assert(anyWholeHead(readOrRefused), { seed, numRuns });
  });

  test('the test detects a parser that ends a head only at the first CR LF CR LF', () => {
    const mutant: typeof readOrRefused = ([given]) =>
      readOrRefused([Buffer.from(Buffer.from(given!).toString('latin1').replaceAll('\n\n', '\n'), 'latin1')]);
    expect(fc.check(anyWholeHead(mutant), { seed, numRuns: 5_000, endOnFailure: true }).failed).toBeTrue();
  });
});

describe('any split of an answer', () => {
  test(`is parsed to the same result (seed ${seed})`, () => {
    fc.assert(anySplit(read), { seed, numRuns });
  });

  const mutants: Readonly<Record<string, typeof read>> = {
    'loses an incomplete line': (pieces) =>
      read(pieces.map((piece) => piece.subarray(0, Math.max(piece.lastIndexOf(0x0a) + 1, piece.length - 1)))),
    'counts CR and LF in two pieces as two line ends': (pieces) =>
      read(
        pieces.map((piece) =>
          piece.at(-1) === 0x0d ? bytes(`${Buffer.from(piece).toString('latin1').slice(0, -1)}\n`) : piece,
        ),
      ),
    'reads only the first piece': ([first]) => read(first ? [first] : []),
  };
  test.each(Object.entries(mutants))('a parser that %s fails', (_, mutant) => {
    expect(fc.check(anySplit(mutant), { seed, numRuns: 2_000, endOnFailure: true }).failed).toBeTrue();
  });
});
