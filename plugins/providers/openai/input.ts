import type { ChatMessage, ContentPart, Members } from 'signalbox/plugin';
import type { Notes } from '../notes.ts';
import { FunctionCalls } from './calls.ts';
import { type ReasoningFormat, withReasoning } from './reasoning.ts';

type Content = ChatMessage['content'];

/** The conversation as `input` items. */
export function inputOf(messages: readonly ChatMessage[], format: ReasoningFormat, notes: Notes): readonly Members[] {
  const calls = new FunctionCalls(notes);
  const items = messages.flatMap((message, at) => {
    const { role, content } = message;
    const path = `messages[${at}]`;
    dropUnsupported(message, path, notes);
    if (role === 'assistant') return withReasoning(message, answerItems(message, path, calls, notes), format);
    if (role !== 'tool' && role !== 'function') return [{ type: 'message', role, content: contentOf(content) }];
    const call_id = calls.answeredBy(message);
    // A result without a call becomes a user's message.
    if (call_id === undefined) return [{ type: 'message', role: 'user', content: contentOf(content) }];
    return [{ type: 'function_call_output', call_id, output: contentOf(content) }];
  });
  calls.end();
  return items;
}

/** Drops speakers' names and cache hints. A function's name is that of its call. */
function dropUnsupported(message: ChatMessage, path: string, notes: Notes): void {
  if (message.name !== undefined && message.role !== 'function') notes.drop(`${path}.name`);
  const parts: readonly Members[] = Array.isArray(message.content) ? message.content : [];
  const owners = [[path, message] as const, ...parts.map((part, at) => [`${path}.content[${at}]`, part] as const)];
  for (const [at, owner] of owners) {
    if ('cache_control' in owner && owner.cache_control != null) notes.drop(`${at}.cache_control`);
  }
}

function contentOf(content: Content): string | readonly Members[] {
  return typeof content === 'string' ? content : (content ?? []).map(partOf);
}

function partOf(part: ContentPart): Members {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'refusal':
      return { type: 'input_text', text: part.refusal };
    case 'image_url':
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' };
    case 'file':
      // `type` goes last, so that the caller cannot override it.
      return { ...part.file, type: 'input_file' };
    case 'input_audio':
      return part;
  }
}

function answerItems(message: ChatMessage, path: string, ids: FunctionCalls, notes: Notes): readonly Members[] {
  const calls = ids.madeBy(message, path);
  const content = outputParts(message, path, notes);
  // Text before calls is not the final answer, which some models distinguish.
  const phase = calls.length > 0 && { phase: 'commentary' };
  return content.length > 0 ? [{ type: 'message', role: 'assistant', content, ...phase }, ...calls] : calls;
}

function outputParts({ content, refusal }: ChatMessage, path: string, notes: Notes): readonly Members[] {
  const parts = typeof content === 'string' ? [outputText(content)] : (content ?? []).map(outputPart);
  const odd = parts.findIndex(({ type }) => type !== 'output_text' && type !== 'refusal');
  if (odd >= 0) {
    notes.refuse(`${path}.content[${odd}]`, 'is no text: the API takes other things from users and tools alone');
  }
  const all = refusal ? [...parts, { type: 'refusal', refusal }] : parts;
  return all.filter((part) => part.text !== '');
}

const outputText = (text: string): Members => ({ type: 'output_text', text });

const outputPart = (part: ContentPart): Members =>
  part.type === 'refusal'
    ? { type: 'refusal', refusal: part.refusal }
    : part.type === 'text'
      ? outputText(part.text)
      : partOf(part);
