import type { EventPlace, PassedPart, StreamPart } from '../../contract/parts.ts';
import { idText } from '../../core/id.ts';
import { inputOf, isObject, parseJson } from '../../core/json/object.ts';
import { type Edit, type OriginalPath, valueAt, withEdits } from '../../core/json/original.ts';

/** A part of an answer with text that the caller reads. */
type TextualPart = Extract<StreamPart, { readonly place?: EventPlace }>;

/**
 * Returns a batch with changed texts, each also changed in the event that it was read from. Only the functions of this file may change an
 * answer that may be passed through unchanged. `withTexts` adds and removes no part; text that waits for later text moves into a later part.
 * State parts stay as their model wrote them, including the thoughts in them.
 * @param textFor returns the new text for a part, or the same text for no change
 */
export function withTexts(
  parts: readonly StreamPart[],
  textFor: (part: TextualPart, text: string) => string,
): readonly StreamPart[] {
  const edited = [...parts];
  let event = -1;
  for (const [index, part] of parts.entries()) {
    if (part.type === 'passthrough') event = index;
    if (!isTextual(part)) continue;
    const before = part.type === 'tool-call' ? part.arguments : part.text;
    const text = textFor(part, before);
    if (text === before) continue;
    edited[index] = part.type === 'tool-call' ? { ...part, arguments: text } : { ...part, text };
    const passed = edited[event];
    if (part.place && passed?.type === 'passthrough') edited[event] = withText(passed, part.place, text);
  }
  return edited;
}

const TEXTUAL: ReadonlySet<string> = new Set<TextualPart['type']>(['text', 'reasoning', 'refusal', 'tool-call']);
const isTextual = (part: StreamPart): part is TextualPart => TEXTUAL.has(part.type);

function withText(passed: PassedPart, { at, isEscaped }: EventPlace, text: string): PassedPart {
  const before = valueAt(passed.event, at);
  const value = isObject(before) ? inputOf(text) : isEscaped ? unescaped(text) : text;
  return { ...passed, event: withEdits(passed.event, [{ at, value }]), json: undefined, mayBeEdited: true };
}

/** Returns a text without the escapes of a JSON string; the same text if its escapes are incomplete. */
function unescaped(text: string): string {
  const value = parseJson(`"${text}"`);
  return typeof value === 'string' ? value : text;
}

/** Returns parts in which the events that are passed on name another answer. @param decision the ID of the decision of that answer */
export function withAnswerId(parts: readonly StreamPart[], decision: number): readonly StreamPart[] {
  return parts.map((part) => {
    if (part.type !== 'passthrough') return part;
    const { type, object, message, response } = part.event;
    const edits: Edit[] = [];
    if (type === 'message') edits.push({ at: ['id'], value: idText('msg_', decision) });
    if (object === 'response') edits.push({ at: ['id'], value: idText('resp_', decision) });
    if (isObject(message)) edits.push({ at: ['message', 'id'], value: idText('msg_', decision) });
    if (isObject(response)) edits.push({ at: ['response', 'id'], value: idText('resp_', decision) });
    return edits.length === 0 ? part : { ...part, event: withEdits(part.event, edits), json: undefined };
  });
}

/**
 * Returns a batch without probabilities of tokens, which repeat the text. In events that are passed on, their lists become empty.
 */
export function withoutLogprobs(parts: readonly StreamPart[]): readonly StreamPart[] {
  if (!parts.some(mayHaveLogprobs)) return parts;
  return parts.flatMap((part): readonly StreamPart[] => {
    if (part.type === 'logprobs') return [];
    if (part.type !== 'passthrough') return [part];
    const edits: Edit[] = [];
    findLogprobs(part.event, [], edits);
    return edits.length === 0 ? [part] : [{ ...part, event: withEdits(part.event, edits), json: undefined }];
  });
}

const mayHaveLogprobs = (part: StreamPart): boolean =>
  part.type === 'logprobs' || (part.type === 'passthrough' && (part.json?.includes('"logprobs"') ?? true));

/** The types of the objects of the Responses API that have the probabilities of a text. */
const OF_TEXT = /^(?:response\.)?output_text/;

function findLogprobs(value: unknown, at: OriginalPath, edits: Edit[]): void {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) findLogprobs(item, [...at, index], edits);
  if (!isObject(value)) return;
  const { type, logprobs } = value;
  if (typeof type === 'string' && OF_TEXT.test(type) && Array.isArray(logprobs) && logprobs.length > 0)
    edits.push({ at: [...at, 'logprobs'], value: [] });
  for (const name of ['part', 'item', 'response', 'output', 'content']) {
    if (typeof value[name] === 'object') findLogprobs(value[name], [...at, name], edits);
  }
}
