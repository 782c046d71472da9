import { FRAME_MARK, type WrittenAnswer } from '../access/idempotency/answer.ts';
import { ERROR_CODES, type ErrorCode } from '../core/errors.ts';
import { objectOf } from '../core/object.ts';

/** Characters of a stream that are sent at once, about. */
const SLICE = 65_536;

/** Returns the code of a stored error; null for another answer. Version 0.1 stored the answers of models as text, in OpenAI's dialect. */
export function codeOf({ status, body }: WrittenAnswer): ErrorCode | null {
  if (status < 400) return null;
  const { code } = objectOf(objectOf(JSON.parse(body)).error);
  return ERROR_CODES.find((each) => each === code) ?? null;
}

/** Returns the response of a stored answer. */
export function writtenResponse({ status, headers, frame, body }: WrittenAnswer): Response {
  const init = { status, headers: { ...headers, 'x-signalbox-replayed': 'true' } };
  return new Response(frame === '' ? body : unfolded(body, frame), init);
}

/** A stream's text, written out piece by piece: the whole may be many times as large as its stored form. */
function unfolded(body: string, frame: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const found = body.indexOf('\n\n', at + SLICE);
        const end = found < 0 ? body.length : found + 2;
        if (at < end) controller.enqueue(encoder.encode(body.slice(at, end).replaceAll(FRAME_MARK, () => frame)));
        at = end;
        if (at === body.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
