import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

/** Bytes of an answer's body that are kept at most, in UTF-8. */
export const ANSWER_BYTES_MAX = 1_048_576;

const AnswerHead = Type.Object({
  status: Type.Integer(),
  headers: Type.Record(Type.String(), Type.String()),
  frame: Type.String(),
});
type AnswerHead = Static<typeof AnswerHead>;
const isHead = TypeCompiler.Compile(AnswerHead);

/** An answer as it is kept. */
export interface StoredAnswer extends Readonly<AnswerHead> {
  /** What of it is worth repeating. */
  readonly headers: Readonly<Record<string, string>>;
  /** What MARK stands for in the body; empty for nothing. */
  readonly frame: string;
  readonly body: string;
}

/**
 * Stands for the frame in a stream's body: the id, the time and the model, which every event repeats and which
 * would be most of what is kept. JSON has no such character outside of escapes.
 */
export const FRAME_MARK = '\u001e';

/** The first line is the head, the rest the body. */
export function encodeAnswer({ status, headers, frame, body }: StoredAnswer): string {
  return `${JSON.stringify({ status, headers, frame })}\n${body}`;
}

/** Null for what another version has written. */
export function decodeAnswer(text: string): StoredAnswer | null {
  const end = text.indexOf('\n');
  if (end < 0) return null;
  const head: unknown = JSON.parse(text.slice(0, end));
  return isHead.Check(head) ? { ...head, body: text.slice(end + 1) } : null;
}
