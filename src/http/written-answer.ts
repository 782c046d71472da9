import { FRAME_MARK, type WrittenAnswer } from '../access/idempotency/answer.ts';
import { ERROR_CODES, type ErrorCode } from '../core/errors.ts';
import { objectOf } from '../core/object.ts';
import { DONE } from '../dialects/openai-chat/chunks.ts';
import { type StreamPolicy, type TextSource, textsBody } from './stream.ts';

/** The approximate number of characters of a stream that are sent at once. */
const SLICE = 65_536;

/** Returns the code of a stored error; null for any other answer. Version 0.1 stored answers of models as text in OpenAI's dialect. */
export function codeOf({ status, body }: WrittenAnswer): ErrorCode | null {
  if (status < 400) return null;
  const { code } = objectOf(objectOf(JSON.parse(body)).error);
  return ERROR_CODES.find((each) => each === code) ?? null;
}

/**
 * Makes the response of a stored answer.
 * @param policy how a failed stream ends; absent for answers that are not streams
 */
export function writtenResponse(
  { status, headers, frame, body }: WrittenAnswer,
  { failedStreams }: Pick<StreamPolicy, 'failedStreams'> = { failedStreams: 'end' },
): Response {
  const init = { status, headers: { ...headers, 'x-signalbox-replayed': 'true' } };
  if (frame === '') return new Response(body, init);
  return new Response(textsBody(unfolded(body, frame, failedStreams === 'break' && !body.endsWith(DONE))), init);
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
