import { type ChatMessage, estimateTokens, plainUsage, type Usage } from 'signalbox/plugin';
import type { ChatCall } from '../chat-call.ts';

/** Tokens of a message besides its text. */
const MESSAGE_OVERHEAD = 4;

/** The longest prefix of a text that counts as at most `tokensMax`. */
export function fitTokens(text: string, tokensMax: number): string {
  let fitting = text;
  let tokens = estimateTokens(fitting);
  while (tokens > tokensMax) {
    let end = Math.min(fitting.length - 1, Math.floor((fitting.length * tokensMax) / tokens));
    if (/[\uD800-\uDBFF]/.test(fitting.charAt(end - 1))) end--;
    fitting = fitting.slice(0, Math.max(0, end));
    tokens = estimateTokens(fitting);
  }
  return fitting;
}

/** Estimates the usage. */
export function estimateUsage(call: ChatCall, answers: readonly string[]): Usage {
  let input = 0;
  for (const message of call.request.messages) input += MESSAGE_OVERHEAD + estimateTokens(textOfMessage(message));
  const { tools } = call.request;
  if (tools && tools.length > 0) input += estimateTokens(JSON.stringify(tools));
  let output = 0;
  for (const answer of answers) output += estimateTokens(answer);
  return plainUsage(input, output);
}

/** The text of a message. */
export function textOfMessage(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
