import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { type FrameParser, frameParser } from '../../src/upstream/frames.ts';
import { effort } from '../deep/effort.ts';
import { openaiAdapter, openTo, partsOf } from '../support/provider-call.ts';
import { cuts, type StreamText, split, streamTexts } from './stream-text.ts';

/**
 * Any split of a stream's bytes, within a UTF-8 sequence or a CRLF, any mixture of line ends, comments, keep-alives and
 * fields that mean nothing, with a byte order mark or without: the parts are the same.
 */
const { runs, seed, proved } = effort('stream-splits', 500, 50_000);
const encoder = new TextEncoder();

/** What the chunks say, each given to the reader as a frame of its own: no bytes, no lines. */
function meant({ chunks }: StreamText): StreamPart[] {
  const reader = openaiAdapter().stream();
  return chunks.flatMap((data) => [...reader.read({ event: '', data })]);
}

type Read = (pieces: readonly Uint8Array[]) => StreamPart[];

/** As a call reads it. */
const read: Read = (pieces) => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parser = frameParser('sse');
  const texts = pieces.map((piece) => decoder.decode(piece, { stream: true }));
  return readTexts([...texts, decoder.decode()], parser);
};

function readTexts(texts: readonly string[], parser: FrameParser): StreamPart[] {
  const reader = openaiAdapter().stream();
  const frames = texts.flatMap((text) => [...parser.push(text)]);
  return [...frames, ...parser.end()].flatMap((frame) => [...reader.read(frame)]);
}

const anySplit = (reading: Read) =>
  fc.property(streamTexts, cuts, (stream, places) => {
    expect(reading(split(encoder.encode(stream.text), places))).toEqual(meant(stream));
  });

describe('a stream says the same', () => {
  test(`however it is cut, its lines end and comments stand between (seed ${seed})`, () => {
    fc.assert(anySplit(read), { seed, numRuns: runs });
    proved('any split of a stream, any line ends, comments, keep-alives and byte order mark: the same parts');
  });

  /** Each makes a mistake that a reader could really make; the law must see it. */
  const decoded = (pieces: readonly Uint8Array[]) => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    return [...pieces.map((piece) => decoder.decode(piece, { stream: true })), decoder.decode()];
  };
  const mutants: Readonly<Record<string, Read>> = {
    'decodes each piece for itself': (pieces) =>
      readTexts(
        pieces.map((piece) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(piece)),
        frameParser('sse'),
      ),
    'loses a CR at the end of a piece': (pieces) =>
      readTexts(
        decoded(pieces).map((text) => text.replace(/\r$/, '')),
        frameParser('sse'),
      ),
    'takes CR and LF in two pieces for two ends': (pieces) =>
      readTexts(
        decoded(pieces).map((text) => text.replace(/\r$/, '\n')),
        frameParser('sse'),
      ),
    'knows no CR': (pieces) =>
      readTexts(
        decoded(pieces).map((text) => text.replaceAll('\r', '')),
        frameParser('sse'),
      ),
    'takes a comment for data': (pieces) =>
      readTexts(
        [
          decoded(pieces)
            .join('')
            .replaceAll(/(^|[\r\n]):/g, '$1data:'),
        ],
        frameParser('sse'),
      ),
    'keeps the byte order mark': (pieces) => readTexts(['\uFEFF', ...decoded(pieces)], frameParser('sse')),
    'takes every data line for an event': (pieces) =>
      readTexts(
        [
          decoded(pieces)
            .join('')
            .replaceAll(/(data:[^\r\n]*)(\r\n|\r|\n)/g, '$1\n\n'),
        ],
        frameParser('sse'),
      ),
    'reads only whole pieces': (pieces) => decoded(pieces).flatMap((text) => readTexts([text], frameParser('sse'))),
  };

  test.each(Object.entries(mutants))('and a reader that %s is found out', (_, mutant) => {
    expect(fc.check(anySplit(mutant), { seed, numRuns: 2_000 }).failed).toBeTrue();
  });
});

/** Answers one connection after the other with the pieces that the test laid out, each a write and a chunk of HTTP's own. */
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
          // Time for it to be a read of its own at the other end.
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

describe('over a socket', () => {
  const server = startPieceServer();
  afterAll(() => server.stop());

  test(`a stream says the same, however it is cut (seed ${seed})`, async () => {
    const law = fc.asyncProperty(streamTexts, fc.array(fc.nat(8_192), { maxLength: 40 }), async (stream, places) => {
      server.lay(split(encoder.encode(stream.text), places));
      expect(await partsOf(openTo(server.url))).toEqual(meant(stream));
    });
    await fc.assert(law, { seed, numRuns: Math.min(runs, 2_000) / 10 });
  }, 60_000);
});
