import { isHarmless } from './failures.ts';

/** Where providers name a request: OpenAI and most others first, then those with a name of their own for it. */
const HEADERS = [
  'x-request-id',
  // Anthropic, Azure, Mistral, DeepSeek, Moonshot, OpenRouter.
  'request-id',
  'apim-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'msh-request-id',
  'x-generation-id',
] as const;

/** Printable, and no longer than any that was seen. */
const FORM = /^[\x21-\x7e]{1,128}$/;

/** The provider's own name of a request; null where it gives none that could be one. */
export function requestIdOf(headers: Headers, apiKey: string | null): string | null {
  for (const name of HEADERS) {
    const value = headers.get(name);
    if (value !== null && FORM.test(value) && isHarmless(value, apiKey)) return value;
  }
  return null;
}
