import type { HTTPHeaders } from 'elysia';
import type { GatewayPolicy } from '../core/snapshot.ts';
import type { RouteEntry } from './routes.ts';

/** Seconds for which a browser may remember that it may ask. */
const REMEMBERED_S = '600';

/** Headers of an answer that say which page may read it. Errors have them, too, so that a page can read the reason. */
export const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'] as const;

/** Whether pages of other origins may use a route: not those of operators, metrics and the documentation. */
export const isForPages = ({ path, methods }: RouteEntry): boolean =>
  path.startsWith('/v1/') || path.startsWith('/.well-known/') || methods.get('POST')?.operation !== undefined;

/**
 * Adds to the headers of an answer which page may read it. `*` for headers means all but `authorization`, as keys come
 * in a header and never by cookie.
 * @returns the answer to a browser that asks on behalf of a page whether it may send a request; null for others. Such a
 * question comes without a key, and costs less than its refusal.
 */
export function answerOrigin(
  request: Request,
  route: RouteEntry | undefined,
  { corsOrigins }: Pick<GatewayPolicy, 'corsOrigins'>,
  headers: HTTPHeaders,
): Response | null {
  if (corsOrigins.size === 0) return null;
  if (!route || !isForPages(route)) return null;
  headers.vary = 'Origin';
  const origin = request.headers.get('origin');
  if (origin === null || !corsOrigins.has(origin)) return null;
  headers['access-control-allow-origin'] = origin;
  const isAsking = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
  if (!isAsking) {
    headers['access-control-expose-headers'] = '*';
    return null;
  }
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': route.allow,
      'access-control-allow-headers': '*, authorization',
      'access-control-max-age': REMEMBERED_S,
    },
  });
}
