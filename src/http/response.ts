import type { HTTPHeaders } from 'elysia';

/** Makes the response of a whole text. Elysia's headers move to it: with any left it would make a second response. */
export function textResponse(text: string, set: { headers: HTTPHeaders }): Response {
  const headers = headersOf(set.headers);
  set.headers = {};
  return new Response(text, { headers });
}

/** Takes the headers out of Elysia's set, for a caller that has them alone. */
export function takeHeaders(common: HTTPHeaders): Headers {
  const headers = headersOf(common);
  for (const name in common) delete common[name];
  return headers;
}

/** Sets the headers one by one: it takes the engine twice as long to read them out of an object. */
function headersOf(common: HTTPHeaders): Headers {
  const headers = new Headers();
  for (const name in common) headers.set(name, String(common[name]));
  return headers;
}
