import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema-check.ts';

/** The most bytes of a stored answer without its head, in UTF-8. */
export const ANSWER_BYTES_MAX = 1_048_576;

const headers = Type.Record(Type.String(), Type.String());
const WrittenHead = Type.Object({ status: Type.Integer(), headers, frame: Type.String() });
/** The number changes with the form of the parts. A version that does not know it refuses the answer. */
const PartsHead = Type.Object({ headers, form: Type.Literal('parts 1') });
const writtenHeadForm = new SchemaCheck(WrittenHead);
const partsHeadForm = new SchemaCheck(PartsHead);

/** A response as its text. */
export interface WrittenAnswer extends Readonly<Static<typeof WrittenHead>> {
  readonly headers: Readonly<Record<string, string>>;
  /** The text that FRAME_MARK replaces in the body; empty for none. Version 0.1 stored streams in this form. */
  readonly frame: string;
  readonly body: string;
}

/** A model's answer as its parts, in no caller's dialect. */
export interface PartsAnswer {
  /** Headers that belong to the answer in every dialect. */
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: string;
}

export type StoredAnswer = WrittenAnswer | PartsAnswer;

/** Replaces the frame in a stream: the ID, time and model of every event. JSON has this character only in escapes. */
export const FRAME_MARK = '\u001e';

/** Returns the text of an answer without its head. */
export const bodyOf = (answer: StoredAnswer): string => ('parts' in answer ? answer.parts : answer.body);

/** The head is the first line, the body the rest. */
export function encodeAnswer(answer: StoredAnswer): string {
  if ('parts' in answer) return `${JSON.stringify({ headers: answer.headers, form: 'parts 1' })}\n${answer.parts}`;
  const { status, headers: kept, frame, body } = answer;
  return `${JSON.stringify({ status, headers: kept, frame })}\n${body}`;
}

/** Returns null for an answer written by another version. */
export function decodeAnswer(text: string): StoredAnswer | null {
  const end = text.indexOf('\n');
  if (end < 0) return null;
  const head: unknown = JSON.parse(text.slice(0, end));
  const body = text.slice(end + 1);
  if (partsHeadForm.accepts(head)) return { headers: head.headers, parts: body };
  return writtenHeadForm.accepts(head) ? { ...head, body } : null;
}
