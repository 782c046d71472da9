import type { ChatMessage, ContentPart, Members } from 'signalbox/plugin';
import { answeredId, callsIn } from '../calls.ts';
import { type Format, withReasoning } from './reasoning.ts';

type Content = ChatMessage['content'];

/** The conversation as `input` items. Paths of what has no place there are added to `dropped`. */
export function inputOf(messages: readonly ChatMessage[], format: Format, dropped: string[]): readonly Members[] {
  const ids = new CallIds();
  return messages.flatMap((message, at) => {
    const { role, content } = message;
    tellOf(message, `messages[${at}]`, dropped);
    if (role === 'assistant') return withReasoning(message, answerItems(message, ids), format);
    if (role !== 'tool' && role !== 'function') return [{ type: 'message', role, content: contentOf(content) }];
    const call_id = ids.latest(answeredId(message) ?? '');
    return [{ type: 'function_call_output', call_id, output: contentOf(content) }];
  });
}

/** IDs of calls, each once: those of some servers begin anew with every answer. */
class CallIds {
  readonly #counts = new Map<string, number>();

  next(id: string): string {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    return this.latest(id);
  }

  /** What `next` gave last. */
  latest(id: string): string {
    const count = this.#counts.get(id) ?? 1;
    return count === 1 ? id : `${id}_${count}`;
  }
}

/** A hint for a cache, and who of several speaks. A function's name is that of its call. */
function tellOf(message: ChatMessage, path: string, dropped: string[]): void {
  if (message.name !== undefined && message.role !== 'function') dropped.push(`${path}.name`);
  const parts: readonly Members[] = Array.isArray(message.content) ? message.content : [];
  const owners = [[path, message] as const, ...parts.map((part, at) => [`${path}.content[${at}]`, part] as const)];
  for (const [at, owner] of owners) {
    if ('cache_control' in owner && owner.cache_control != null) dropped.push(`${at}.cache_control`);
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
      return { type: 'input_file', ...part.file };
    case 'input_audio':
      return part;
  }
}

function answerItems(message: ChatMessage, ids: CallIds): readonly Members[] {
  const calls = callsIn(message).map(({ id, name, arguments: text }) => ({
    type: 'function_call',
    call_id: ids.next(id),
    name,
    arguments: text,
  }));
  const content = saidIn(message);
  // What stands before calls is no last word: models that tell the two apart would take it for one.
  const phase = calls.length > 0 && { phase: 'commentary' };
  return content.length > 0 ? [{ type: 'message', role: 'assistant', content, ...phase }, ...calls] : calls;
}

function saidIn({ content, refusal }: ChatMessage): readonly Members[] {
  const parts = typeof content === 'string' ? [outputText(content)] : (content ?? []).map(saidPart);
  const all = refusal ? [...parts, { type: 'refusal', refusal }] : parts;
  return all.filter((part) => part.text !== '');
}

const outputText = (text: string): Members => ({ type: 'output_text', text });

const saidPart = (part: ContentPart): Members =>
  part.type === 'refusal'
    ? { type: 'refusal', refusal: part.refusal }
    : part.type === 'text'
      ? outputText(part.text)
      : partOf(part);
