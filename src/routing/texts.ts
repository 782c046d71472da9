import type { ChatMessage } from '../core/chat-request.ts';

/**
 * The texts of a conversation that every template passes on as they stand, in order: what people, models and operators
 * say. All else is written anew by some: what tools are and answer, calls of them, schemas, names. So a count of it
 * here would say nothing, and its bytes remain its bound.
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

/** A question of at most this many UTF-16 code units may be about what was asked before. */
const LEANING = 160;

/** What is asked: the last words of the user's, with those before where they are few; null where there are none. */
export function questionOf(messages: readonly ChatMessage[]): string | null {
  let question = '';
  for (let at = messages.length - 1; at >= 0 && question.length <= LEANING; at--) {
    const message = messages[at]!;
    if (message.role !== 'user') continue;
    const text = wordsOf(message);
    if (text) question = question ? `${text}\n${question}` : text;
  }
  return question || null;
}

function wordsOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of content ?? []) if (part.type === 'text') text = text ? `${text}\n${part.text}` : part.text;
  return text;
}
