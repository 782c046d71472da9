import { type Static, Type } from '@sinclair/typebox';
import type { StreamPart } from '../../contract/parts.ts';
import { separateParts } from '../../contract/text-run.ts';
import { currentUsage } from '../../core/accounting/former.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import { ERROR_CODES, SignalboxError } from '../../core/errors.ts';
import { isObject } from '../../core/json/object.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import type { AnswerSource } from './answer-source.ts';

/**
 * The stored text of an answer: a line for each batch of parts, then a line with its end. The text does not depend on a dialect. In a
 * batch, a plain JSON string is a text part of the first choice without a place in an event, because most parts are such texts. An event
 * that is passed through unchanged is stored as its text alone.
 */
const EndLine = Type.Object({
  created: Type.Integer(),
  model: Type.String(),
  inputTokens: Type.Optional(Type.Integer()),
  receipt: Type.Object({ usage: Type.Object({}), platform: Type.Object({}), saved: Type.Integer() }),
  error: Type.Union([
    Type.Null(),
    Type.Object({ code: Type.String(), message: Type.String(), info: Type.Record(Type.String(), Type.Unknown()) }),
  ]),
});
const endLineForm = new SchemaCheck(EndLine);

/** Stored texts are sealed with the ID of their decision, so every text that can be opened was written by `batchLine` and `endLine`. */
const isReceipt = (value: Static<typeof EndLine>['receipt']): value is Receipt & typeof value =>
  isObject(value.platform);
const isPart = (value: unknown): value is StreamPart => isObject(value) && typeof value.type === 'string';

/** Returns the line of a batch, including its line end. */
export function batchLine(batch: readonly StreamPart[]): string {
  // Callers never get these parts. Events that are passed on keep their output, because guards read it.
  const shown = separateParts(batch).filter(({ type }) => type !== 'unread');
  return `${JSON.stringify(shown.map(storedPart))}\n`;
}

function storedPart(part: StreamPart): unknown {
  if (part.type === 'text' && part.choice === 0 && !part.place) return part.text;
  if (part.type !== 'passthrough') return part;
  const { event, ...others } = part;
  return part.json === undefined ? { ...others, event } : others;
}

function partOf(stored: unknown): StreamPart {
  if (typeof stored === 'string') return { type: 'text', choice: 0, text: stored };
  if (!isPart(stored)) throw new Error('a stored answer has something that is no part');
  // The cost that the provider stated belongs to the first answer.
  if (stored.type === 'usage') return { type: 'usage', usage: stored.usage && currentUsage(stored.usage) };
  if (stored.type !== 'passthrough' || stored.json === undefined) return stored;
  const event: unknown = JSON.parse(stored.json);
  if (!isObject(event)) throw new Error('a stored answer has an event that is no object');
  return { ...stored, event };
}

/** Reads the line of a batch. */
export function batchOf(line: string): StreamPart[] {
  const parts: unknown = JSON.parse(line);
  if (!Array.isArray(parts)) throw new Error('a stored answer has a line that is no batch');
  return parts.map(partOf);
}

/** Returns the last line of the stored text. The cause of the error was logged with the first answer, and is not stored. */
export function endLine(source: AnswerSource, error: SignalboxError | null): string {
  const { created, model, inputTokens, receipt } = source;
  const { cause: _, ...info } = error?.info ?? {};
  return JSON.stringify({
    created,
    model,
    inputTokens,
    receipt,
    error: error && { code: error.code, message: error.message, info },
  });
}

/** The memory and the turns that a stored answer shares with other repeats while it is sent again. */
export interface ReplayTerms {
  /** Waits until the next characters may be parsed; null if they may be parsed at once. */
  pace(chars: number): Promise<void> | null;
  /** Called once the answer was read to its end or abandoned, possibly twice. */
  leave(): void;
}

const ALONE: ReplayTerms = { pace: () => null, leave: () => {} };

/**
 * Reads a stored answer to send it again. Sending a stored answer calls no model and costs nothing.
 * @param text the lines of batches, and the last line
 * @returns null for a text of another version
 */
export function replayedAnswer(decision: number, text: string, { pace, leave } = ALONE): AnswerSource | null {
  const endAt = text.lastIndexOf('\n') + 1;
  const end: unknown = JSON.parse(text.slice(endAt));
  if (!endLineForm.accepts(end) || !isReceipt(end.receipt)) return null;
  const { created, model, inputTokens, error: stored } = end;
  const receipt = { ...end.receipt, usage: currentUsage(end.receipt.usage) };
  const code = stored && ERROR_CODES.find((one) => one === stored.code);
  if (code === undefined) return null;
  const error = stored && code && new SignalboxError(code, stored.message, stored.info);
  let at = 0;
  /** Where the line ends that may be read after a delay. */
  let pacedTo = 0;
  return {
    decision,
    created,
    model,
    inputTokens,
    dropped: receipt.platform.dropped,
    receipt,
    error,
    async open() {
      if (!error || endAt > 0) return;
      leave();
      throw error;
    },
    read() {
      if (at >= endAt) {
        leave();
        return null;
      }
      const lineEnd = text.indexOf('\n', at);
      if (pacedTo < lineEnd) {
        pacedTo = lineEnd;
        const delay = pace(lineEnd - at);
        if (delay) return delay;
      }
      const line = text.slice(at, lineEnd);
      at = lineEnd + 1;
      return batchOf(line);
    },
    abandon() {
      at = endAt;
      leave();
    },
  };
}
