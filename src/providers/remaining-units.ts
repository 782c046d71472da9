import type { RemainingUnits } from '../core/policy/endpoint-room.ts';
import type { UpstreamReply } from './reply.ts';

/**
 * The headers in which providers report what remains of a limit on requests or tokens, in the forms of OpenAI and Anthropic. Anthropic's
 * separate headers for input and output tokens do not fit a limit on both together; its header for tokens covers the stricter one.
 */
const HEADERS = {
  requests: ['x-ratelimit-remaining-requests', 'anthropic-ratelimit-requests-remaining'],
  tokens: ['x-ratelimit-remaining-tokens', 'anthropic-ratelimit-tokens-remaining'],
} as const;

/** Reads what remains of the provider's own limits; null if the answer does not say. */
export function remainingUnits(reply: Pick<UpstreamReply, 'header'>): RemainingUnits | null {
  const [requests, tokens] = [leastOf(HEADERS.requests, reply), leastOf(HEADERS.tokens, reply)];
  if (requests === null && tokens === null) return null;
  return { ...(requests !== null && { requests }), ...(tokens !== null && { tokens }) };
}

function leastOf(names: readonly string[], reply: Pick<UpstreamReply, 'header'>): number | null {
  let least: number | null = null;
  for (const name of names) {
    const text = reply.header(name);
    if (text === null || !/^\s*\d{1,15}(\.\d+)?\s*$/.test(text)) continue;
    least = Math.min(least ?? Number.POSITIVE_INFINITY, Number(text));
  }
  return least;
}
