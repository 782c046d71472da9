import type { HTTPHeaders } from 'elysia';

/**
 * Makes the response of a whole text.
 * @param common Elysia's headers, which move to the response
 */
export const textResponse = (text: string, common: HTTPHeaders): Response =>
  new Response(text, { headers: takeHeaders(common) });

/**
 * Takes the headers out of Elysia's set: with any left there it would make a second response, with headers of its own. They
 * are set one by one: it takes the engine twice as long to read them out of an object.
 */
export function takeHeaders(common: HTTPHeaders): Headers {
  const headers = new Headers();
  for (const name in common) {
    headers.set(name, String(common[name]));
    delete common[name];
  }
  return headers;
}
