import type { Authentication } from '../access/keys.ts';
import type { Caller, Scope } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import { tooLarge } from './body.ts';

/** What a route needs of its caller: a scope, any key at all, or nothing. */
export type Access = Scope | 'key' | 'open';

export interface RouteRule {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly access: Access;
  /** A POST that takes none: whatever comes is not read. */
  readonly body?: 'none';
}

/** Every route with what it needs. A path that is not here does not exist. */
export const ROUTES: readonly RouteRule[] = [
  { method: 'POST', path: '/v1/chat/completions', access: 'chat' },
  { method: 'POST', path: '/v1/route', access: 'route' },
  { method: 'GET', path: '/v1/models', access: 'key' },
  { method: 'GET', path: '/v1/models/*', access: 'key' },
  { method: 'GET', path: '/v1/decisions/:id', access: 'key' },
  { method: 'GET', path: '/admin/policy', access: 'admin' },
  { method: 'POST', path: '/admin/policy/reload', access: 'admin', body: 'none' },
  { method: 'GET', path: '/admin/ledger', access: 'admin' },
  { method: 'GET', path: '/healthz', access: 'open' },
  { method: 'GET', path: '/readyz', access: 'open' },
  { method: 'GET', path: '/metrics', access: 'open' },
  { method: 'GET', path: '/docs', access: 'open' },
  { method: 'GET', path: '/docs/:asset', access: 'open' },
];

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** Bytes of all header names and values together. */
const HEADER_BYTES_MAX = 16_384;

interface Route {
  readonly path: string;
  readonly methods: ReadonlyMap<string, RouteRule>;
  readonly matches: (path: string) => boolean;
}

const table: readonly Route[] = [...new Set(ROUTES.map(({ path }) => path))].map((path) => ({
  path,
  methods: new Map(ROUTES.filter((route) => route.path === path).map((route) => [route.method, route])),
  matches: matcher(path),
}));
const exact: ReadonlyMap<string, Route> = new Map(table.map((route) => [route.path, route]));

function matcher(pattern: string): (path: string) => boolean {
  if (pattern.endsWith('/*')) return (path) => path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  const colon = pattern.indexOf(':');
  if (colon < 0) return (path) => path === pattern;
  const prefix = pattern.slice(0, colon);
  return (path) => path.startsWith(prefix) && path.length > colon && !path.includes('/', colon);
}

/** Whether a request is for a route that reads no body. */
export function takesNoBody({ method, url }: Request): boolean {
  return exact.get(pathOf(url))?.methods.get(method)?.body === 'none';
}

/** The path of a URL, found without parsing the rest of it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  if (start < 0) return '/';
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

export interface GuardRules {
  authenticate(header: string | null): Authentication;
  bodyBytesMax(): number;
}

/**
 * Admission, before a byte of the body is read: path, key, scope, method, type and size, in that
 * order. Returns the caller, or null on an open route. Throws SignalboxError.
 */
export function admit(request: Request, rules: GuardRules): Caller | null {
  const path = pathOf(request.url);
  const { headers } = request;
  if (headerBytes(headers) > HEADER_BYTES_MAX) {
    throw new SignalboxError('headers_too_large', `The headers may have at most ${HEADER_BYTES_MAX} bytes together.`);
  }
  const needsKey = path.startsWith('/v1/') || path.startsWith('/admin/') || path === '/v1' || path === '/admin';
  const caller = needsKey ? authenticated(headers, rules) : null;
  const route = exact.get(path) ?? table.find(({ matches }) => matches(path));
  if (!route) throw new SignalboxError('not_found', `There is nothing at ${printable(path)}.`);
  const { method } = request;
  const rule = route.methods.get(method === 'HEAD' ? 'GET' : method);
  if (!rule) {
    const allow = [...route.methods.keys()].join(', ');
    throw new SignalboxError('method_not_allowed', `${printable(path)} takes ${allow}, not ${method}.`, {
      headers: { allow },
    });
  }
  const { access } = rule;
  if (caller && access !== 'key' && access !== 'open' && !caller.scopes.has(access)) {
    throw new SignalboxError('insufficient_permissions', `This API key lacks the scope \`${access}\`.`);
  }
  if (method === 'POST' && rule.body !== 'none') checkBodyHeaders(headers, rules.bodyBytesMax());
  return caller;
}

function authenticated(headers: Headers, rules: GuardRules): Caller {
  const { caller, reason } = rules.authenticate(headers.get('authorization'));
  if (caller) return caller;
  // Why a key is refused is nobody's business who does not hold it; how to send one is.
  const help = reason === 'missing' || reason === 'malformed';
  throw new SignalboxError(
    'invalid_api_key',
    help ? 'Send an API key in the header Authorization: Bearer sb_live_….' : 'The API key is not valid.',
  );
}

function checkBodyHeaders(headers: Headers, bytesMax: number): void {
  const type = headers.get('content-type') ?? '';
  if (!JSON_TYPE.test(type)) {
    throw new SignalboxError('unsupported_media_type', 'Send the header content-type: application/json, in UTF-8.');
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw new SignalboxError('unsupported_media_type', 'Send the body as it is, without content-encoding.');
  }
  if (Number(headers.get('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  headers.forEach((value, name) => {
    bytes += name.length + value.length;
  });
  return bytes;
}

/** A caller's path, fit to be repeated. */
function printable(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}…` : path;
}
