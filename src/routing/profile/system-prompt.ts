import type { ChatMessage } from '../../core/chat-request.ts';

/**
 * Messages of the operator that are read: those that begin the conversation. One that stands further on is about a turn, not
 * about all of them.
 */
const MESSAGES = 3;
/** Characters read of the head and the tail of each: who answers stands at the head, how to answer at the tail. */
const HEAD = 900;
const TAIL = 500;

/** The standing instruction: what the `system` and `developer` messages say before anybody asks; empty where they say nothing. */
export function systemPromptText(messages: readonly ChatMessage[]): string {
  let text = '';
  for (let at = 0; at < messages.length && at < MESSAGES; at++) {
    const { role, content } = messages[at]!;
    if (role !== 'system' && role !== 'developer') break;
    if (typeof content === 'string') text = joined(text, content);
    else for (const part of content ?? []) if (part.type === 'text') text = joined(text, part.text);
    if (text.length > 2 * (HEAD + TAIL)) break;
  }
  return text;
}

/** Cut between lines where that is near, so that no half of a sentence asks. */
function joined(text: string, more: string): string {
  const bounded = more.length <= HEAD + TAIL ? more : `${more.slice(0, HEAD)}\n\n${more.slice(-TAIL)}`;
  return text ? `${text}\n\n${bounded}` : bounded;
}

const AGENT = /\bagent(?:s|e|en|in)?\b/i;
const OF_CODE =
  /\b(?:cod(?:e|er|ing|ebase)|repo(?:s|sitory|sitories)?|program\w*|software|developers?|engineer\w*|files?|tests?|commits?|terminal|shell|cli|sql|bugs?|tools?|scripts?|git|api|data\w*|devops|pull requests?)\b/i;

/** Whether an agent is one of people, of a bank or a shop: nothing around the word is of code. */
export const isAgentOfPeople = (text: string): boolean => AGENT.test(text) && !OF_CODE.test(text);
