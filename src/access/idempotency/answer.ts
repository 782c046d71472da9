import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema/check.ts';

/** The most bytes of a stored answer without its head, in UTF-8. */
export const ANSWER_BYTES_MAX = 1_048_576;

const headers = Type.Record(Type.String(), Type.String());
const WrittenHead = Type.Object({ status: Type.Integer(), headers });
/**
 * The number of the format in which the parts of an answer are stored. A version of Signalbox that does not know the number does not use
 * the answer.
 */
const PartsHead = Type.Object({ headers, form: Type.Literal('parts 1') });
const writtenHeadForm = new SchemaCheck(WrittenHead);
const partsHeadForm = new SchemaCheck(PartsHead);

/** An answer stored as the text that was sent. */
export interface WrittenAnswer extends Readonly<Static<typeof WrittenHead>> {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A model's answer stored as its parts, independent of the dialect of any caller. */
export interface PartsAnswer {
  /** Headers that belong to the answer in every dialect. */
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: string;
}

export type StoredAnswer = WrittenAnswer | PartsAnswer;

/** A stored text as it is read again: its bytes in UTF-8. */
export interface WrittenBytes extends Omit<WrittenAnswer, 'body'> {
  readonly body: Uint8Array;
}

export type OpenedAnswer = WrittenBytes | PartsAnswer;

const LINE_END = 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns the text of an answer without its head. */
export function bodyOf(answer: StoredAnswer | OpenedAnswer): string {
  if ('parts' in answer) return answer.parts;
  return typeof answer.body === 'string' ? answer.body : decoder.decode(answer.body);
}

/** Writes an answer. The head is the first line, the body is the rest. */
export function encodeAnswer(answer: StoredAnswer): string {
  if ('parts' in answer) return `${JSON.stringify({ headers: answer.headers, form: 'parts 1' })}\n${answer.parts}`;
  const { status, headers: kept, body } = answer;
  return `${JSON.stringify({ status, headers: kept })}\n${body}`;
}

/**
 * Reads an answer, but not its body.
 * @param bytes what `encodeAnswer` returned, in UTF-8
 * @returns null for an answer written by another version
 */
export function decodeAnswer(bytes: Uint8Array): OpenedAnswer | null {
  const end = bytes.indexOf(LINE_END);
  if (end < 0) return null;
  const head: unknown = JSON.parse(decoder.decode(bytes.subarray(0, end)));
  const body = bytes.subarray(end + 1);
  if (partsHeadForm.accepts(head)) return { headers: head.headers, parts: decoder.decode(body) };
  return writtenHeadForm.accepts(head) ? { ...head, body } : null;
}
