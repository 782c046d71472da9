import { bodyOf, type WrittenBytes } from '../../access/idempotency/answer.ts';
import { ERROR_CODES, type ErrorCode } from '../../core/errors.ts';
import { objectOf } from '../../core/json/object.ts';
import type { OpenRepeat } from './repeats.ts';
import { bytesBody, SLICE_BYTES } from './stream.ts';

/** Returns the code of a stored error; null for any other answer. */
export function codeOf(answer: WrittenBytes): ErrorCode | null {
  if (answer.status < 400) return null;
  const { code } = objectOf(objectOf(JSON.parse(bodyOf(answer))).error);
  return ERROR_CODES.find((each) => each === code) ?? null;
}

/** Makes the response of a stored answer. Its memory is released when a large body was sent; a small one is handed to the server at once. */
export function writtenResponse(
  { status, headers, body }: WrittenBytes,
  { pace, leave }: Pick<OpenRepeat, 'pace' | 'leave'>,
): Response {
  const init = { status, headers: { ...headers, 'x-signalbox-replayed': 'true' } };
  if (body.length > SLICE_BYTES) return new Response(bytesBody(body, pace, leave), init);
  leave();
  return new Response(body, init);
}
