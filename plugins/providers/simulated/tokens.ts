import { estimateTokens, type ProviderCall, plainUsage, type Turn, type Usage } from 'signalbox/plugin';

/** The number of tokens of a turn in addition to its text. */
const TURN_OVERHEAD = 4;

/** Returns the longest prefix of a text that counts as at most `tokensMax` tokens. */
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

/** Estimates the token usage of a simulated answer. */
export function estimateUsage(call: ProviderCall, answers: readonly string[]): Usage {
  let input = 0;
  const { request } = call;
  const { turns, tools } = request.conversation;
  for (const turn of turns) input += TURN_OVERHEAD + estimateTokens(textOfTurn(turn));
  if (tools.length > 0) input += estimateTokens(JSON.stringify(tools.map(({ at }) => request.originalAt(at))));
  let output = 0;
  for (const answer of answers) output += estimateTokens(answer);
  return plainUsage(input, output);
}

/** Returns the text of a turn. */
export function textOfTurn({ parts }: Turn): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
}
