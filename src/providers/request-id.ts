import { isFreeOfSecrets } from './failures.ts';
import type { UpstreamReply } from './reply.ts';

/** Response headers with the provider's request ID: the common header first, then headers of single vendors. */
const HEADERS = [
  'x-request-id',
  // Anthropic, Azure, Mistral, DeepSeek, Moonshot and OpenRouter use this header.
  'request-id',
  'apim-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'msh-request-id',
  'x-generation-id',
] as const;

/** A request ID consists of 1 to 128 printable ASCII characters. */
const FORM = /^[\x21-\x7e]{1,128}$/;

/** Returns the provider's ID of the request; null if there is no plausible one. */
export function requestIdOf(reply: Pick<UpstreamReply, 'header'>, apiKey: string | null): string | null {
  for (const name of HEADERS) {
    const value = reply.header(name);
    if (value !== null && FORM.test(value) && isFreeOfSecrets(value, apiKey)) return value;
  }
  return null;
}
