import type { Turn } from '../core/conversation.ts';
import type { ModelRequest } from '../core/model-request.ts';

/**
 * The texts of a conversation that every chat template passes on unchanged, in order: turns of users, models and
 * operators. Some templates rewrite the rest (tools, calls and their results, schemas, names), so counting its tokens would
 * say nothing; its bytes are its bound.
 */
export function textsOf(turns: readonly Turn[]): string[] {
  const texts: string[] = [];
  for (const { role, parts } of turns) {
    if (role === 'tool') continue;
    for (const part of parts) if (part.type === 'text') texts.push(part.text);
  }
  return texts;
}

/** The texts of a request whose tokens can be counted; none where it states a figure in their place. */
export function countableTexts({ embedding, conversation, routing }: ModelRequest): readonly string[] {
  if (routing.inputTokens !== undefined) return [];
  if (embedding === null) return textsOf(conversation.turns);
  return embedding.inputs.flatMap((input) => (input.type === 'text' ? input.text : []));
}

/** A turn of at most this many UTF-16 code units may be a follow-up. */
export const FOLLOW_UP_CHARS_MAX = 160;

/** The user's last text, with the ones before it where it may be a follow-up; null where there is none. */
export function questionOf(turns: readonly Turn[]): string | null {
  let question = '';
  for (let at = turns.length - 1; at >= 0 && question.length <= FOLLOW_UP_CHARS_MAX; at--) {
    const turn = turns[at]!;
    if (turn.role !== 'user') continue;
    const text = turnText(turn);
    if (text) question = question ? `${text}\n${question}` : text;
  }
  return question || null;
}

/** The text of a turn, its parts joined by line ends. */
export function turnText({ parts }: Turn): string {
  let text = '';
  for (const part of parts) if (part.type === 'text') text = text ? `${text}\n${part.text}` : part.text;
  return text;
}
