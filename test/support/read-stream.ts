import type { StreamPart } from '../../src/contract/parts.ts';
import type { StreamReader } from '../../src/contract/provider.ts';
import { TextRun } from '../../src/contract/text-run.ts';
import { type FrameParser, frameParser } from '../../src/providers/frames.ts';
import { PieceDecoder } from '../../src/providers/piece-decoder.ts';

/** Reads a stream of server-sent events as a call does. Returns the parts of each piece. */
export function readStream(pieces: readonly Uint8Array[], reader: StreamReader): StreamPart[][] {
  const decoder = new PieceDecoder();
  return readTexts([...pieces.map((piece) => decoder.decode(piece)), decoder.end()], reader);
}

/** Reads the decoded pieces of a stream. */
export function readTexts(
  texts: readonly string[],
  reader: StreamReader,
  parser: FrameParser = frameParser('sse'),
): StreamPart[][] {
  return texts.map((text) => {
    const parts: StreamPart[] = [];
    parser.add(text);
    for (let next = parser.next(reader.textForm); next; next = parser.next(reader.textForm)) {
      if (next instanceof TextRun) parts.push(next);
      else parts.push(...reader.read(next));
    }
    return parts;
  });
}
