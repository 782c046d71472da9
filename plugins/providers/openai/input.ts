import type { ChatMessage, ContentPart, Members } from 'signalbox/plugin';
import { answeredId, callsIn, OwnIds } from '../calls.ts';
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
    const call_id = ids.answered(answeredId(message) ?? '');
    return [{ type: 'function_call_output', call_id, output: contentOf(content) }];
  });
}

/** The calls of a conversation under IDs that are each there once: those of some servers begin anew with every answer, or repeat within one. */
class CallIds {
  readonly #own = new OwnIds();
  /** By the caller's ID, those of its latest message's calls that wait for their result. */
  readonly #waiting = new Map<string, string[]>();

  /** For the calls of one message, by the caller's IDs. */
  made(ids: readonly string[]): readonly string[] {
    for (const id of ids) this.#waiting.set(id, []);
    return ids.map((id) => {
      const own = this.#own.next(id);
      this.#waiting.get(id)?.push(own);
      return own;
    });
  }

  /** Of calls that share an ID the first one gets the first result. What answers no call keeps its own. */
  answered(id: string): string {
    return this.#waiting.get(id)?.shift() ?? id;
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
      // Last: a caller's own type would make of it what nobody has looked at.
      return { ...part.file, type: 'input_file' };
    case 'input_audio':
      return part;
  }
}

function answerItems(message: ChatMessage, ids: CallIds): readonly Members[] {
  const made = callsIn(message);
  const own = ids.made(made.map(({ id }) => id));
  const calls = made.map(({ name, arguments: text }, at) => ({
    type: 'function_call',
    call_id: own[at],
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
