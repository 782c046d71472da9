import { isObject, parseJson } from '../../core/json/object.ts';
import type { Turn } from '../../core/request/conversation.ts';
import type { Escalation, EscalationSignal } from '../../core/request/facts.ts';
import { turnText } from '../texts.ts';

/**
 * Finds the latest signal in a transcript that an earlier answer failed. Only the last answers and the turns around them are read, so the
 * cost has a bound, and all servers agree.
 * @param answers the number of answers without a signal that ends an escalation, 1 or more
 * @returns undefined if no signal is recent enough
 */
export function transcriptEscalation(turns: readonly Turn[], answers: number): Escalation | undefined {
  let turnsAgo = 0;
  for (let at = turns.length - 1; at > 0 && turnsAgo < answers; at--) {
    const turn = turns[at]!;
    if (turn.role === 'user' && repeatsQuestion(turns, at)) return { signal: 'repeated_question', turnsAgo };
    // An assistant turn at the end is the beginning of the answer, which the caller wrote.
    if (turn.role !== 'assistant' || at === turns.length - 1) continue;
    const signal = signalOf(turn);
    if (signal) return { signal, turnsAgo };
    turnsAgo++;
  }
  return undefined;
}

/** Whether a user's turn is the same as the user's turn directly before the last answer. */
function repeatsQuestion(turns: readonly Turn[], at: number): boolean {
  const before = turns[at - 2];
  if (before?.role !== 'user' || turns[at - 1]!.role !== 'assistant') return false;
  const text = turnText(turns[at]!).trim();
  return text !== '' && text === turnText(before).trim();
}

function signalOf({ parts, extras }: Turn): EscalationSignal | null {
  let isBlank = Object.keys(extras).length === 0;
  for (const part of parts) {
    if (part.type === 'refusal') return 'refused_answer';
    if (part.type === 'tool-call' && part.arguments !== '' && !isObject(parseJson(part.arguments)))
      return 'malformed_call';
    if (part.type !== 'text' || part.text.trim() !== '') isBlank = false;
  }
  return isBlank ? 'empty_answer' : null;
}
