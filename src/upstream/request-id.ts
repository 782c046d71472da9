import { isHarmless } from './failures.ts';

/** Where providers name a request, the most telling first: OpenAI and most others, Anthropic, Azure, Mistral. */
const HEADERS = ['x-request-id', 'request-id', 'apim-request-id', 'mistral-correlation-id'] as const;

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
