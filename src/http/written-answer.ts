import { bodyOf, FRAME_MARK, type WrittenBytes } from '../access/idempotency/answer.ts';
import { ERROR_CODES, type ErrorCode } from '../core/errors.ts';
import { objectOf } from '../core/json/object.ts';
import { DONE } from '../dialects/openai-chat/chunks.ts';
import type { OpenRepeat } from './repeats.ts';
import { bytesBody, SLICE_BYTES, type StreamPolicy, type TextSource, textsBody } from './stream.ts';

/** The approximate number of characters of a stream that are sent at once. */
const SLICE = 65_536;

/** Returns the code of a stored error; null for any other answer. Version 0.1 stored answers of models as text in OpenAI's dialect. */
export function codeOf(answer: WrittenBytes): ErrorCode | null {
  if (answer.status < 400) return null;
  const { code } = objectOf(objectOf(JSON.parse(bodyOf(answer))).error);
  return ERROR_CODES.find((each) => each === code) ?? null;
}

/**
 * Makes the response of a stored answer. Its memory is released when a large body was sent; a small one is handed to the server at once.
 * @param policy how a failed stream ends; absent for answers that are not streams
 */
export function writtenResponse(
  answer: WrittenBytes,
  { pace, leave }: Pick<OpenRepeat, 'pace' | 'leave'>,
  { failedStreams }: Pick<StreamPolicy, 'failedStreams'> = { failedStreams: 'end' },
): Response {
  const { status, headers, frame, body } = answer;
  const init = { status, headers: { ...headers, 'x-signalbox-replayed': 'true' } };
  if (frame === '' && body.length > SLICE_BYTES) return new Response(bytesBody(body, pace, leave), init);
  leave();
  if (frame === '') return new Response(body, init);
  const text = bodyOf(answer);
  return new Response(textsBody(unfolded(text, frame, failedStreams === 'break' && !text.endsWith(DONE))), init);
}

/** Writes a stored stream piece by piece, because the full text may be many times as large as its stored form. */
function unfolded(body: string, frame: string, isBroken: boolean): TextSource {
  let at = 0;
  return {
    isBroken,
    get isOver() {
      return at === body.length;
    },
    next() {
      if (at === body.length) return null;
      const found = body.indexOf('\n\n', at + SLICE);
      const from = at;
      at = found < 0 ? body.length : found + 2;
      return body.slice(from, at).replaceAll(FRAME_MARK, () => frame);
    },
  };
}
