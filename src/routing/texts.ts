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
