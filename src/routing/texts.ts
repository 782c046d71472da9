import type { ChatMessage } from '../core/chat-request.ts';

/**
 * The texts of a conversation that every chat template passes on unchanged, in order: messages of users, models and
 * operators. Some templates rewrite the rest (tools, calls and their results, schemas, names), so counting its tokens would
 * say nothing; its bytes are its bound.
 */
export function textsOf(messages: readonly ChatMessage[]): string[] {
  const texts: string[] = [];
  for (const { role, content } of messages) {
    if (role === 'tool' || role === 'function') continue;
    if (typeof content === 'string') texts.push(content);
    else for (const part of content ?? []) if (part.type === 'text') texts.push(part.text);
  }
  return texts;
}

/** A message of at most this many UTF-16 code units may be a follow-up. */
export const FOLLOW_UP_CHARS_MAX = 160;

/** The user's last text, with the ones before it where it may be a follow-up; null where there is none. */
export function questionOf(messages: readonly ChatMessage[]): string | null {
  let question = '';
  for (let at = messages.length - 1; at >= 0 && question.length <= FOLLOW_UP_CHARS_MAX; at--) {
    const message = messages[at]!;
    if (message.role !== 'user') continue;
    const text = textOf(message);
    if (text) question = question ? `${text}\n${question}` : text;
  }
  return question || null;
}

/** The text of a message, its parts joined by line ends. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of content ?? []) if (part.type === 'text') text = text ? `${text}\n${part.text}` : part.text;
  return text;
}
