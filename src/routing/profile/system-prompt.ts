import type { Turn } from '../../core/conversation.ts';

/** Turns read, from the start of the conversation: later system messages are about a single turn. */
const TURNS = 3;
/** Characters read of each: the role stands at the head, instructions for the answer at the tail. */
const HEAD = 900;
const TAIL = 500;

/** The text of the `system` and `developer` messages that begin the conversation; '' for none. */
export function systemPromptText(turns: readonly Turn[]): string {
  let text = '';
  for (let at = 0; at < turns.length && at < TURNS; at++) {
    const { role, parts } = turns[at]!;
    if (role !== 'system' && role !== 'developer') break;
    for (const part of parts) if (part.type === 'text') text = joined(text, part.text);
    if (text.length > 2 * (HEAD + TAIL)) break;
  }
  return text;
}

function joined(text: string, more: string): string {
  const bounded = more.length <= HEAD + TAIL ? more : `${more.slice(0, HEAD)}\n\n${more.slice(-TAIL)}`;
  return text ? `${text}\n\n${bounded}` : bounded;
}

const AGENT = /\bagent(?:s|e|en|in)?\b/i;
const OF_CODE =
  /\b(?:cod(?:e|er|ing|ebase)|repo(?:s|sitory|sitories)?|program\w*|software|developers?|engineer\w*|files?|tests?|commits?|terminal|shell|cli|sql|bugs?|tools?|scripts?|git|api|data\w*|devops|pull requests?)\b/i;

/** Whether it describes an agent that serves people, such as one of a bank: nothing speaks of code. */
export const isAgentOfPeople = (text: string): boolean => AGENT.test(text) && !OF_CODE.test(text);
