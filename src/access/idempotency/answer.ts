import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

/** The most bytes of a stored body, in UTF-8. */
export const ANSWER_BYTES_MAX = 1_048_576;

const AnswerHead = Type.Object({
  status: Type.Integer(),
  headers: Type.Record(Type.String(), Type.String()),
  frame: Type.String(),
});
type AnswerHead = Static<typeof AnswerHead>;
const isHead = TypeCompiler.Compile(AnswerHead);

export interface StoredAnswer extends Readonly<AnswerHead> {
  /** Only those that are worth repeating. */
  readonly headers: Readonly<Record<string, string>>;
  /** The text that FRAME_MARK replaces in the body; empty for none. */
  readonly frame: string;
  readonly body: string;
}

/** Replaces the frame in a stream: the ID, time and model of every event. JSON has this character only in escapes. */
export const FRAME_MARK = '\u001e';

/** The head is the first line, the body the rest. */
export function encodeAnswer({ status, headers, frame, body }: StoredAnswer): string {
  return `${JSON.stringify({ status, headers, frame })}\n${body}`;
}

/** Returns null for an answer written by another version. */
export function decodeAnswer(text: string): StoredAnswer | null {
  const end = text.indexOf('\n');
  if (end < 0) return null;
  const head: unknown = JSON.parse(text.slice(0, end));
  return isHead.Check(head) ? { ...head, body: text.slice(end + 1) } : null;
}
