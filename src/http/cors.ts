import type { HTTPHeaders } from 'elysia';
import { SignalboxError } from '../core/errors.ts';
import type { GatewayPolicy } from '../core/snapshot.ts';
import { webOriginOf } from '../core/web-origin.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { RouteEntry } from './route-table.ts';
import { printable } from './unknown-path.ts';

/** Seconds for which a browser may remember that it may ask. */
const REMEMBERED_S = '600';

/** Headers of an answer that say which page may read it. Errors have them, too, so that a page can read the reason. */
export const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'] as const;

/** Whether pages of other origins may use a route: not those of operators, metrics and the documentation. */
const isForPages = ({ path, methods }: RouteEntry): boolean =>
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

/** Origins that the log names at most, so that strangers cannot fill it. */
const ORIGINS_LOGGED_MAX = 100;

/**
 * Makes what refuses the preflights of browsers that the policy does not allow, and logs each web page's origin once. It refuses
 * them before they are asked for a key that they cannot send, by a SignalboxError that names the setting. Other requests pass.
 */
export function preflightRefusal(log: Pick<Log, 'warn'>) {
  const logged = new Set<string>();
  const note = (origin: string): void => {
    if (logged.size >= ORIGINS_LOGGED_MAX || logged.has(origin) || webOriginOf(origin) !== origin) return;
    logged.add(origin);
    log.warn('a web page was refused: to allow it, add its origin to gateway.cors.origins in the policy', { origin });
  };
  return ({ headers }: Request, route: RouteEntry): void => {
    const origin = headers.get('origin');
    if (origin === null || !headers.has('access-control-request-method')) return;
    const isAllowable = isForPages(route);
    if (isAllowable) note(origin);
    const message = isAllowable
      ? `Web pages of ${printable(origin)} may not call Signalbox. To allow them, add the origin to gateway.cors.origins in the policy.`
      : `Web pages of other origins can never call ${route.path}: no setting of the policy allows it.`;
    throw new SignalboxError('method_not_allowed', message, { headers: { allow: route.allow } });
  };
}
