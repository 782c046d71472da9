import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Frame } from '../../src/contract/provider.ts';
import { type FrameParser, frameParser } from '../../src/providers/frames.ts';
import { inTime } from '../support/in-time.ts';

const encoder = new TextEncoder();

function framesOf(chunks: readonly Uint8Array[], parser: FrameParser): Frame[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const frames: Frame[] = [];
  for (const chunk of chunks) frames.push(...parser.push(decoder.decode(chunk, { stream: true })));
  frames.push(...parser.push(decoder.decode()), ...parser.end());
  return frames;
}

const sse = (text: string) => framesOf([encoder.encode(text)], frameParser('sse'));
const data = (...texts: string[]): Frame[] => texts.map((text) => ({ event: '', data: text }));

describe('server-sent events', () => {
  test.each([
    ['LF', 'data: a\n\ndata: b\n\n'],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\r\rdata: b\r\r'],
    ['a mixture', 'data: a\r\n\ndata: b\n\r\n'],
    ['a byte order mark', '\uFEFFdata: a\n\ndata: b\n\n'],
    ['comments and keep-alives', ': hi\n\ndata: a\n:\n\n\n\n: OPENROUTER PROCESSING\n\ndata: b\n\n'],
    ['no space after the colon', 'data:a\n\ndata:b\n\n'],
    ['id and retry', 'id: 1\nretry: 5\ndata: a\n\nid\ndata: b\n\n'],
    ['an event without data', 'event: x\n\ndata: a\n\ndata: b\n\n'],
  ])('are read with %s', (_, text) => {
    expect(sse(text)).toEqual(data('a', 'b'));
  });

  test('join several data lines with LF, and keep their event name', () => {
    expect(sse('event: e\ndata: a\ndata:\ndata:  b\n\ndata\n\n')).toEqual([
      { event: 'e', data: 'a\n\n b' },
      { event: '', data: '' },
    ]);
  });

  test('without their blank line are not dispatched, because they may be incomplete', () => {
    expect(sse('data: a\n\ndata: {"half":')).toEqual(data('a'));
    expect(sse('data: a\n\ndata: b\n')).toEqual(data('a'));
  });

  test('keep the text around invalid UTF-8', () => {
    const bytes = [...encoder.encode('data: a'), 0xff, ...encoder.encode('b\n\n')];
    expect(framesOf([new Uint8Array(bytes)], frameParser('sse'))).toEqual(data('a\uFFFDb'));
  });

  test.each(['data: ', 'data: x\ndata: '])('that are larger than allowed stop the parser: %j', (start) => {
    const parser = frameParser('sse', 100);
    expect(parser.push('data: fine\n\n')).toEqual(data('fine'));
    parser.push(start);
    for (let i = 0; i < 200; i++) parser.push('y');
    expect(parser.overflowed).toBe(true);
    expect(parser.push('\n\ndata: b\n\n')).toEqual([]);
    expect(frameParser('sse', 100).push(`${start}${'y'.repeat(200)}\n\n`)).toEqual([]);
  });

  test('in a million one-letter pieces are read in linear time', async () => {
    const frames = await inTime(2_000, () => {
      const parser = frameParser('sse');
      parser.push('data: ');
      for (let i = 0; i < 1_000_000; i++) parser.push('y');
      return parser.push('\n\n');
    });
    expect(frames[0]?.data.length).toBe(1_000_000);
  });
});

describe('newline-delimited JSON', () => {
  test('NDJSON has one frame per line, even for a last line without its end', () => {
    const text = '{"a":1}\n\r\n{"b":"ü"}\r\n{"c":3}';
    expect(framesOf([encoder.encode(text)], frameParser('ndjson'))).toEqual(data('{"a":1}', '{"b":"ü"}', '{"c":3}'));
  });
});

test('blank lines are not frames', () => {
  expect(frameParser('ndjson').push('{"a":1}\n \t\n{"b":2}\n')).toEqual(data('{"a":1}', '{"b":2}'));
});

test('the size limit applies to finished and unfinished frames, however the text is split', () => {
  const MAX = 30;
  const lines = fc.array(fc.tuple(fc.constantFrom('data:', ':'), fc.integer({ min: 0, max: 32 })), { minLength: 1 });
  const law = fc.property(lines, fc.boolean(), fc.integer({ min: 1, max: 80 }), (list, isWhole, piece) => {
    const written = list.map(([start, more]) => start + 'y'.repeat(more));
    let kept = -1;
    let tooLarge = false;
    for (const line of written) {
      if (line.length + Math.max(0, kept) > MAX) tooLarge = true;
      if (line.startsWith('data:')) kept += line.length - 4;
    }
    const text = written.join('\n') + (isWhole ? '\n' : '');
    const parser = frameParser('sse', MAX);
    for (let at = 0; at < text.length; at += piece) parser.push(text.slice(at, at + piece));
    expect(parser.overflowed).toBe(tooLarge || (isWhole && Math.max(0, kept) > MAX));
  });
  fc.assert(law, { numRuns: 1_000 });
});

/** Splits bytes at the given positions. */
function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

const token = fc.constantFrom(
  'data',
  'event',
  ':',
  ' ',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\uFEFF',
  '\0',
  'ü',
  '💡',
  '{"a":1}',
);
const line = fc.tuple(fc.constantFrom('data:', 'data: ', 'event: ', ':'), fc.array(token, { maxLength: 3 }));
const ending = fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n');
const streams = fc
  .array(fc.tuple(line, ending), { maxLength: 12 })
  .map((lines) => lines.map(([[field, rest], end]) => field + rest.join('') + end).join(''));

/** Any split of a stream's bytes gives the same frames. */
const anySplit = (kind: 'sse' | 'ndjson', parse: (chunks: readonly Uint8Array[]) => Frame[]) =>
  fc.property(streams, fc.array(fc.nat(400), { maxLength: 12 }), (text, cuts) => {
    const bytes = encoder.encode(text);
    expect(parse(split(bytes, cuts))).toEqual(framesOf([bytes], frameParser(kind)));
  });

describe('any split of the bytes gives the same frames', () => {
  test.each(['sse', 'ndjson'] as const)('in %s', (kind) => {
    fc.assert(
      anySplit(kind, (chunks) => framesOf(chunks, frameParser(kind))),
      { numRuns: 2_000 },
    );
  });

  /** Realistic mistakes of a parser, which the property must detect. */
  const mutants: Record<string, (chunks: readonly Uint8Array[]) => Frame[]> = {
    'decodes each piece separately': (chunks) => {
      const parser = frameParser('sse');
      return chunks.flatMap((chunk) => parser.push(new TextDecoder().decode(chunk)));
    },
    'forgets that a piece ended with CR': (chunks) => {
      const parser = frameParser('sse');
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      return chunks.flatMap((chunk) => parser.push(decoder.decode(chunk, { stream: true }).replace(/\r$/, '\n')));
    },
  };

  test.each(Object.entries(mutants))('a parser that %s fails', (_, mutant) => {
    expect(fc.check(anySplit('sse', mutant), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});

test('an unfinished line does not keep the rest of its network read in memory', () => {
  const read = `data: ${'x'.repeat(60_000)}\n\ndata: {"unfinished`;
  const live = () => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const before = live();
  // So many that other objects of this process make no difference.
  const parsers = Array.from({ length: 400 }, () => {
    const parser = frameParser('sse');
    parser.push(Buffer.from(read).toString());
    return parser;
  });
  expect((live() - before) / parsers.length).toBeLessThan(read.length / 4);
  expect(parsers[399]?.push('"}\n\n')).toEqual([{ event: '', data: '{"unfinished"}' }]);
});
