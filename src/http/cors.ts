import type { HTTPHeaders } from 'elysia';
import { SignalboxError } from '../core/errors.ts';
import { webOriginOf } from '../core/net/web-origin.ts';
import type { GatewayPolicy } from '../core/policy/snapshot.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { RouteEntry } from './kit/route-table.ts';
import { printable } from './kit/unknown-path.ts';

/** How long a browser may remember the result of a preflight, in seconds. */
const REMEMBERED_S = '600';

/**
 * Response headers that say which web page may read the response. Error responses have these headers, too, so that a page can read the
 * reason.
 */
export const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'] as const;

/**
 * Adds the CORS headers to a response. The wildcard `*` for headers excludes `authorization`, because keys are sent in headers and never in
 * cookies.
 * @returns the response to a preflight; null for other requests. A preflight has no key, and answering it is cheaper than refusing it.
 */
export function answerOrigin(
  request: Request,
  route: RouteEntry | undefined,
  { corsOrigins }: Pick<GatewayPolicy, 'corsOrigins'>,
  headers: HTTPHeaders,
): Response | null {
  if (!route?.isForPages) return null;
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

/** The maximum number of origins that are logged, so that strangers cannot fill the log. */
const ORIGINS_LOGGED_MAX = 100;

/**
 * Makes a function that refuses preflights which the policy does not allow, and logs each origin once. A preflight cannot contain a key, so
 * it is refused before the key is checked; the SignalboxError names the setting. Other requests pass.
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
    const isAllowable = route.isForPages;
    if (isAllowable) note(origin);
    const message = isAllowable
      ? `Web pages of ${printable(origin)} may not call Signalbox. To allow them, add the origin to gateway.cors.origins in the policy.`
      : `Web pages of other origins can never call ${route.path}: no setting of the policy allows it.`;
    throw new SignalboxError('method_not_allowed', message, { headers: { allow: route.allow } });
  };
}
