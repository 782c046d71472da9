import type { Turn } from '../core/request/conversation.ts';
import type { ModelRequest } from '../core/request/model-request.ts';

/**
 * Returns the texts of a conversation that every chat template passes on unchanged, in order: the turns of users, models and operators.
 * Some templates rewrite tools, calls, results, schemas and names, so the tokens of these cannot be counted; their size in bytes is the
 * upper bound.
 */
export function textsOf(turns: readonly Turn[]): string[] {
  const texts: string[] = [];
  for (const { role, parts } of turns) {
    if (role === 'tool') continue;
    for (const part of parts) if (part.type === 'text') texts.push(part.text);
  }
  return texts;
}

/** Returns the texts of a request whose tokens can be counted. The list is empty if the request states its number of input tokens. */
export function countableTexts({ inputs, conversation, routing }: ModelRequest): readonly string[] {
  if (routing.inputTokens !== undefined) return [];
  if (inputs === null) return textsOf(conversation.turns);
  return inputs.flatMap((input) => (input.type === 'text' ? input.text : []));
}

/** A turn of at most this many UTF-16 code units may be a follow-up to the question before it. */
export const FOLLOW_UP_CHARS_MAX = 160;

/** Returns the user's last text, together with the texts before it if it may be a follow-up; null if the user wrote no text. */
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

/** Returns the text of a turn, with its parts joined by line breaks. */
export function turnText({ parts }: Turn): string {
  let text = '';
  for (const part of parts) if (part.type === 'text') text = text ? `${text}\n${part.text}` : part.text;
  return text;
}
