import { afterAll, describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { WireAdapter } from '../../src/contract/provider.ts';
import { separateParts } from '../../src/contract/text-run.ts';
import { effort } from '../deep/effort.ts';
import { openTo, partsOf } from '../support/provider-call.ts';
import { readTexts as readDecoded, readStream } from '../support/read-stream.ts';
import { cuts, DIALECT_NAMES, type DialectName, type StreamText, split, streamTexts } from './stream-text.ts';

/**
 * The law: however the bytes of a stream are split (within a UTF-8 sequence or a CRLF), and with any mixture of line ends, comments,
 * keep-alives and fields without meaning, with or without a byte order mark, the parts are the same.
 */
const { runs, seed, proved } = effort('stream-splits', 80, 50_000);
const encoder = new TextEncoder();

/** The adapters, with their default settings. */
const ADAPTERS: Readonly<Record<DialectName, WireAdapter>> = {
  openai: wireAdapter('openai-compatible'),
  anthropic: wireAdapter('anthropic'),
  gemini: wireAdapter('gemini'),
  responses: wireAdapter('openai'),
};

function wireAdapter(name: string): WireAdapter {
  const plugin = shipped.find((one) => one.kind === 'provider' && one.name === name);
  const prepared = plugin?.kind === 'provider' ? plugin.prepare(Value.Create(plugin.settings)) : null;
  if (prepared?.kind !== 'wire') throw new Error(`no wire adapter is named ${name}`);
  return prepared;
}

/** Returns the parts of the events, each given to the reader as a frame, without bytes and lines. */
function meant({ events }: StreamText, adapter: WireAdapter): StreamPart[] {
  const reader = adapter.stream();
  return events.flatMap((frame) => [...reader.read(frame)]);
}

type Read = (pieces: readonly Uint8Array[], adapter: WireAdapter) => StreamPart[];

const read: Read = (pieces, adapter) => [...separateParts(readStream(pieces, adapter.stream()).flat())];

const readTexts = (texts: readonly string[], adapter: WireAdapter): StreamPart[] => [
  ...separateParts(readDecoded(texts, adapter.stream()).flat()),
];

const anySplit = (dialect: DialectName, reading: Read) =>
  fc.property(streamTexts(dialect), cuts, (stream, places) => {
    const adapter = ADAPTERS[dialect];
    expect(reading(split(encoder.encode(stream.text), places), adapter)).toEqual(meant(stream, adapter));
  });

/** Each mutant makes a mistake that a real reader could make. The law must detect the mutant. */
const decoded = (pieces: readonly Uint8Array[]) => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return [...pieces.map((piece) => decoder.decode(piece, { stream: true })), decoder.decode()];
};
const mutants: Readonly<Record<string, Read>> = {
  'decodes each piece separately': (pieces, adapter) =>
    readTexts(
      pieces.map((piece) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(piece)),
      adapter,
    ),
  'loses a CR at the end of a piece': (pieces, adapter) =>
    readTexts(
      decoded(pieces).map((text) => text.replace(/\r$/, '')),
      adapter,
    ),
  'reads CR and LF in two pieces as two line ends': (pieces, adapter) =>
    readTexts(
      decoded(pieces).map((text) => text.replace(/\r$/, '\n')),
      adapter,
    ),
  'knows no CR': (pieces, adapter) =>
    readTexts(
      decoded(pieces).map((text) => text.replaceAll('\r', '')),
      adapter,
    ),
  'reads a comment as data': (pieces, adapter) =>
    readTexts(
      [
        decoded(pieces)
          .join('')
          .replaceAll(/(^|[\r\n]):/g, '$1data:'),
      ],
      adapter,
    ),
  'keeps the byte order mark': (pieces, adapter) => readTexts(['\uFEFF', ...decoded(pieces)], adapter),
  'reads every data line as an event': (pieces, adapter) =>
    readTexts(
      [
        decoded(pieces)
          .join('')
          .replaceAll(/(data:[^\r\n]*)(\r\n|\r|\n)/g, '$1\n\n'),
      ],
      adapter,
    ),
  'reads only whole pieces': (pieces, adapter) => decoded(pieces).flatMap((text) => readTexts([text], adapter)),
};

describe('a stream has the same meaning', () => {
  test(`a stream has the same meaning however it is cut, however its lines end, and whatever comments it contains (seed ${seed})`, () => {
    for (const dialect of DIALECT_NAMES) fc.assert(anySplit(dialect, read), { seed, numRuns: runs });
    const dialects = DIALECT_NAMES.join(', ');
    proved(
      `any split of a stream (${dialects}), any line ends, comments, keep-alives and byte order mark: the same parts`,
    );
  });

  test.each(Object.entries(mutants))('the law detects a reader that %s', (_, mutant) => {
    for (const dialect of DIALECT_NAMES) {
      expect([
        dialect,
        fc.check(anySplit(dialect, mutant), { seed, numRuns: 2_000, endOnFailure: true }).failed,
      ]).toEqual([dialect, true]);
    }
  });
});

/**
 * Starts a server that answers one connection after the other with the prepared pieces. Each piece is a write and an HTTP chunk of its own.
 */
function startPieceServer() {
  let pieces: readonly Uint8Array[] = [];
  const server = Bun.listen<{ begun: boolean }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { begun: false };
        socket.setNoDelay(true);
      },
      async data(socket) {
        if (socket.data.begun) return;
        socket.data.begun = true;
        socket.write(
          'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n',
        );
        for (const piece of pieces) {
          socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
          // Allows the other end to read the piece separately.
          await new Promise(setImmediate);
        }
        socket.end('0\r\n\r\n');
      },
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    lay: (next: readonly Uint8Array[]) => {
      pieces = next;
    },
    stop: () => server.stop(true),
  };
}

/** Returns the parts that a call reads: it ignores everything after the usage that follows the finish. */
function upToWhole(parts: readonly StreamPart[]): StreamPart[] {
  const finish = parts.findIndex(({ type }) => type === 'finish');
  const usage = parts.findIndex(({ type }, at) => type === 'usage' && at > finish);
  return parts.slice(0, usage + 1);
}

describe('a stream that is passed through unchanged', () => {
  /** Also compares the passed events, however their lines arrived. */
  const passed = (parts: readonly StreamPart[]) =>
    parts.map((part) => (part.type === 'passthrough' ? { type: part.type, event: part.event } : part));
  const anyPassed = (dialect: DialectName, reading: Read) =>
    fc.property(streamTexts(dialect), cuts, (stream, places) => {
      const own = ADAPTERS[dialect];
      const adapter: WireAdapter = { ...own, stream: () => own.stream(true) };
      expect(passed(reading(split(encoder.encode(stream.text), places), adapter))).toEqual(
        passed(meant(stream, adapter)),
      );
    });

  test.each<DialectName>(['anthropic', 'responses'])(
    'a stream that is passed through unchanged has the same meaning, however it is cut: %s',
    (dialect) => {
      fc.assert(anyPassed(dialect, read), { seed, numRuns: runs });
      expect(
        fc.check(anyPassed(dialect, mutants['knows no CR']!), { seed, numRuns: 2_000, endOnFailure: true }).failed,
      ).toBe(true);
      proved(`any split of a stream of ${dialect} that is passed through: the same events and parts`);
    },
  );
});

describe('over a socket', () => {
  const server = startPieceServer();
  afterAll(() => server.stop());

  test.each(DIALECT_NAMES)(`a stream of %s has the same meaning, however it is cut (seed ${seed})`, async (dialect) => {
    const adapter = ADAPTERS[dialect];
    const law = fc.asyncProperty(
      streamTexts(dialect),
      fc.array(fc.nat(8_192), { maxLength: 40 }),
      async (stream, places) => {
        server.lay(split(encoder.encode(stream.text), places));
        expect(await partsOf(openTo(server.url, { adapter }))).toEqual(upToWhole(meant(stream, adapter)));
      },
    );
    await fc.assert(law, { seed, numRuns: Math.min(runs, 2_000) / 10 });
  });
});
