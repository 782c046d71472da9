import type { RemainingUnits } from '../core/endpoint-room.ts';

/**
 * The headers in which providers report what remains of a limit on requests or tokens, in the forms of OpenAI and Anthropic. Anthropic's
 * separate headers for input and output tokens do not fit a limit on both together; its header for tokens covers the stricter one.
 */
const HEADERS = {
  requests: ['x-ratelimit-remaining-requests', 'anthropic-ratelimit-requests-remaining'],
  tokens: ['x-ratelimit-remaining-tokens', 'anthropic-ratelimit-tokens-remaining'],
} as const;

/** Reads what remains of the provider's own limits; null if the answer does not say. @param header returns a header by its name */
export function remainingUnits(header: (name: string) => string | null): RemainingUnits | null {
  const [requests, tokens] = [leastOf(HEADERS.requests, header), leastOf(HEADERS.tokens, header)];
  if (requests === null && tokens === null) return null;
  return { ...(requests !== null && { requests }), ...(tokens !== null && { tokens }) };
}

function leastOf(names: readonly string[], header: (name: string) => string | null): number | null {
  let least: number | null = null;
  for (const name of names) {
    const text = header(name);
    if (text === null || !/^\s*\d{1,15}(\.\d+)?\s*$/.test(text)) continue;
    least = Math.min(least ?? Number.POSITIVE_INFINITY, Number(text));
  }
  return least;
}
