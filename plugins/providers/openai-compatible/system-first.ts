import type { Members } from 'signalbox/plugin';
import { isObject, listOf, textOf } from '../json.ts';

const isInstruction = ({ role }: Members): boolean => role === 'system' || role === 'developer';

/**
 * Returns the messages for a server that accepts one system message, at the beginning. `systemFirst` joins leading system messages. A later
 * system message becomes marked text: in the user's next message, otherwise at the end of the user's message or tool result before it,
 * otherwise in a message of its own. `systemFirst` puts nothing between a call and its results. `systemFirst` returns the same list if
 * nothing changes.
 */
export function systemFirst(messages: readonly Members[]): readonly Members[] {
  if (!messages.some((message, at) => at > 0 && isInstruction(message))) return messages;
  const begin = messages.findIndex((message) => !isInstruction(message));
  const leading = begin < 0 ? messages : messages.slice(0, begin);
  const fitted: Members[] = leading.length === 0 ? [] : [leading.reduce(joined)];
  /** The marked texts that wait for a message to contain them. */
  let waiting: Members | null = null;
  for (const message of begin < 0 ? [] : messages.slice(begin)) {
    if (isInstruction(message)) {
      const marked = markedText(message);
      waiting = waiting ? joined(waiting, marked) : marked;
    } else if (message.role === 'tool') {
      fitted.push(message);
    } else {
      if (waiting && message.role !== 'user') place(waiting, fitted);
      fitted.push(waiting && message.role === 'user' ? { ...message, ...joined(waiting, message) } : message);
      waiting = null;
    }
  }
  if (waiting) place(waiting, fitted);
  return fitted;
}

/** Adds marked text after the messages so far. */
function place(marked: Members, fitted: Members[]): void {
  const last = fitted.at(-1);
  // Some servers reject a user's message after a tool result.
  if (last?.role === 'user' || last?.role === 'tool') fitted[fitted.length - 1] = joined(last, marked);
  else fitted.push(marked);
}

/** Returns the first message with the content of both messages. */
function joined(first: Members, second: Members): Members {
  const [a, b] = [first.content, second.content];
  if (Array.isArray(a) || Array.isArray(b)) return { ...first, content: [...contentParts(a), ...contentParts(b)] };
  return { ...first, content: [a, b].map(textOf).filter(Boolean).join('\n\n') };
}

const contentParts = (content: unknown): readonly unknown[] => {
  if (Array.isArray(content)) return content;
  return textOf(content) === '' ? [] : [{ type: 'text', text: content }];
};

/** Returns instructions as a message of the user. */
function markedText({ content }: Members): Members {
  if (!Array.isArray(content)) return { role: 'user', content: marked(textOf(content)) };
  const parts = listOf(content).map((part) =>
    isObject(part) && typeof part.text === 'string' ? { ...part, text: marked(part.text) } : part,
  );
  return { role: 'user', content: parts };
}

const marked = (text: string): string => (text === '' ? '' : `<system>\n${text}\n</system>`);
