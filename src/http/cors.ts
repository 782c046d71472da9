import type { HTTPHeaders } from 'elysia';
import type { GatewayPolicy } from '../core/snapshot.ts';
import { methodsAt } from './guard.ts';

/** Seconds for which a browser may remember that it may ask. What it may read is told with each answer. */
const REMEMBERED_S = '600';

/** Headers of an answer that say which page may read it. Errors have them, too: a page could else not tell why. */
export const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'] as const;

/**
 * Adds to the headers of an answer which page may read it. Returns the answer to a browser that asks on behalf of a page
 * whether it may send a request: it comes without a key, and costs less than its refusal. Null for all else.
 *
 * `*` for headers means all but `authorization`, as keys come in a header and never by cookie.
 */
export function answerOrigin(
  request: Request,
  { corsOrigins }: Pick<GatewayPolicy, 'corsOrigins'>,
  told: HTTPHeaders,
): Response | null {
  if (corsOrigins.size === 0) return null;
  const methods = methodsAt(request);
  // What is for operators is never for a page of another origin, nor are figures and the documentation.
  if (!methods) return null;
  told.vary = 'Origin';
  const origin = request.headers.get('origin');
  if (origin === null || !corsOrigins.has(origin)) return null;
  told['access-control-allow-origin'] = origin;
  const isAsking = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
  if (!isAsking) {
    told['access-control-expose-headers'] = '*';
    return null;
  }
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': methods,
      'access-control-allow-headers': '*, authorization',
      'access-control-max-age': REMEMBERED_S,
    },
  });
}
