import type { HTTPHeaders } from 'elysia';

/**
 * Makes the response of a complete text, and moves Elysia's headers to it. If any header stayed in Elysia's `set`, Elysia would make a
 * second response.
 */
export function textResponse(text: string, set: { headers: HTTPHeaders }): Response {
  const headers = headersOf(set.headers);
  set.headers = {};
  return new Response(text, { headers });
}

/** Moves the headers out of Elysia's `set`. */
export function takeHeaders(common: HTTPHeaders): Headers {
  const headers = headersOf(common);
  for (const name in common) delete common[name];
  return headers;
}

/** Sets the headers individually, because passing an object takes the engine twice as long. */
function headersOf(common: HTTPHeaders): Headers {
  const headers = new Headers();
  for (const name in common) headers.set(name, String(common[name]));
  return headers;
}
