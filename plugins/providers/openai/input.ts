import { type ContentPart, type Members, pathText, type Turn } from 'signalbox/plugin';
import type { Notes } from '../notes.ts';
import { FunctionCalls } from './calls.ts';
import { type ReasoningFormat, withReasoning } from './reasoning.ts';

/** Returns the conversation as `input` items. */
export function inputOf(turns: readonly Turn[], format: ReasoningFormat, notes: Notes): readonly Members[] {
  const calls = new FunctionCalls(notes);
  const items = turns.flatMap((turn) => {
    const { role, parts } = turn;
    dropUnsupported(turn, notes);
    if (role === 'assistant') return withReasoning(turn, answerItems(turn, calls, notes), format);
    if (role !== 'tool') return [{ type: 'message', role, content: contentOf(parts) }];
    const call_id = calls.answeredBy(turn);
    // A tool result without a call becomes a user's message.
    if (call_id === undefined) return [{ type: 'message', role: 'user', content: contentOf(parts) }];
    return [{ type: 'function_call_output', call_id, output: contentOf(parts) }];
  });
  calls.end();
  return items;
}

/** Drops speakers' names and cache hints. */
function dropUnsupported(turn: Turn, notes: Notes): void {
  if (turn.name !== undefined) notes.drop(`${pathText(turn.at)}.name`);
  for (const { at, extras } of [turn, ...turn.parts]) {
    if (extras.cache_control != null) notes.drop(`${pathText(at)}.cache_control`);
  }
}

/** Returns the content of a message. A plain string of the caller stays a plain string. */
function contentOf(parts: readonly ContentPart[]): string | readonly Members[] {
  const [only] = parts;
  if (only === undefined) return '';
  return parts.length === 1 && only?.type === 'text' && only.at === only.valueAt ? only.text : parts.flatMap(partOf);
}

function partOf(part: ContentPart): Members[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [{ type: 'input_text', text: part.text }];
    case 'image':
      return [{ type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' }];
    case 'file':
      return [{ file_data: part.data, file_id: part.id, filename: part.name, type: 'input_file' }];
    // Requests with audio go to chat completions.
    case 'audio':
    case 'tool-call':
    // The provider's models are not eligible for a translation of such a part.
    case 'native':
      return [];
  }
}

/** Returns the items of an answer in their order. Texts from one message of the original stay in one message. */
function answerItems(turn: Turn, ids: FunctionCalls, notes: Notes): readonly Members[] {
  const calls = ids.madeBy(turn, pathText(turn.at));
  // Text before calls is not the final answer, and some models distinguish commentary from the final answer.
  const phase = calls.length > 0 && { phase: 'commentary' };
  const items: Members[] = [];
  /** The open message, and its location in the original. */
  let open: Members[] = [];
  let place = '';
  let made = 0;
  for (const part of turn.parts) {
    if (part.type === 'tool-call') {
      items.push(calls[made++]!);
      place = '';
      continue;
    }
    const content = outputParts(part, notes);
    if (content.length === 0) continue;
    const own = pathText(part.at.slice(0, 2));
    if (own !== place) {
      open = [];
      place = own;
      items.push({ type: 'message', role: 'assistant', content: open, ...phase });
    }
    open.push(...content);
  }
  return items;
}

function outputParts(part: Exclude<ContentPart, { type: 'tool-call' }>, notes: Notes): Members[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ type: 'output_text', text: part.text }];
  if (part.type === 'refusal') return [{ type: 'refusal', refusal: part.text }];
  return notes.refuse(pathText(part.at), 'is not text; this provider accepts other parts only from users and tools');
}
