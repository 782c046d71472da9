import type { Authentication } from '../access/keys.ts';
import type { Gate } from '../access/limits/gate.ts';
import type { Limiter, Offence } from '../access/limits/limiter.ts';
import { durationText } from '../access/limits/refusal.ts';
import type { Caller, Scope } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { isWallet } from '../core/wallet.ts';
import type { Admission, RequestContext } from '../gateway/request-context.ts';
import { blockedError } from '../payments/refusals.ts';
import { callerAddress, type Peers } from './address.ts';
import { bytesAtOnce, tooLarge } from './body.ts';

/** What a route needs of its caller: a scope, any key at all, or nothing. */
export type Access = Scope | 'key' | 'open';

export interface RouteRule {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly access: Access;
  /** A POST that takes none: whatever comes is not read. */
  readonly body?: 'none';
  /** It takes a place among those that are worked on, and counts against the rate limits. */
  readonly counts?: true;
  /** While payments are on it may come without a key: a wallet proves itself by its payment, or asks what to pay. */
  readonly pays?: true;
}

/** Every route with what it needs. A path that is not here does not exist. */
export const ROUTES: readonly RouteRule[] = [
  { method: 'POST', path: '/v1/chat/completions', access: 'chat', counts: true, pays: true },
  { method: 'POST', path: '/v1/route', access: 'route', counts: true },
  { method: 'GET', path: '/v1/models', access: 'key' },
  { method: 'GET', path: '/v1/models/*', access: 'key' },
  { method: 'GET', path: '/v1/decisions/:id', access: 'key' },
  { method: 'POST', path: '/v1/feedback', access: 'key', counts: true },
  { method: 'GET', path: '/v1/usage', access: 'key' },
  { method: 'POST', path: '/v1/wallets/topup', access: 'key', counts: true, pays: true },
  { method: 'POST', path: '/v1/wallets/keys', access: 'key', counts: true, pays: true },
  { method: 'GET', path: '/v1/wallets/me', access: 'key' },
  { method: 'GET', path: '/v1/payments/:id', access: 'key' },
  { method: 'GET', path: '/admin/policy', access: 'admin' },
  { method: 'POST', path: '/admin/policy/reload', access: 'admin', body: 'none' },
  { method: 'GET', path: '/admin/ledger', access: 'admin' },
  { method: 'GET', path: '/admin/usage', access: 'admin' },
  { method: 'GET', path: '/admin/decisions/:id/content', access: 'admin' },
  { method: 'GET', path: '/admin/keys', access: 'admin' },
  { method: 'POST', path: '/admin/keys', access: 'admin' },
  { method: 'GET', path: '/admin/keys/:id', access: 'admin' },
  { method: 'POST', path: '/admin/keys/:id/revoke', access: 'admin', body: 'none' },
  { method: 'POST', path: '/admin/keys/:id/rotate', access: 'admin' },
  { method: 'POST', path: '/admin/keys/:id/grant', access: 'admin' },
  { method: 'GET', path: '/admin/trail', access: 'admin' },
  { method: 'GET', path: '/admin/payments', access: 'admin' },
  { method: 'POST', path: '/admin/payments/:id/reconcile', access: 'admin', body: 'none' },
  { method: 'GET', path: '/admin/wallets/:id', access: 'admin' },
  { method: 'POST', path: '/admin/wallets/:id/block', access: 'admin' },
  { method: 'POST', path: '/admin/wallets/:id/unblock', access: 'admin', body: 'none' },
  { method: 'POST', path: '/admin/wallets/:id/credit', access: 'admin' },
  { method: 'GET', path: '/.well-known/x402', access: 'open' },
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
  const slash = pattern.indexOf('/', colon);
  const suffix = slash < 0 ? '' : pattern.slice(slash);
  return (path) =>
    path.startsWith(prefix) &&
    path.endsWith(suffix) &&
    path.length > colon + suffix.length &&
    !path.slice(colon, path.length - suffix.length).includes('/');
}

const routeAt = (path: string): Route | undefined => exact.get(path) ?? table.find(({ matches }) => matches(path));

/** Whether a path, or a route's pattern, is only for those with a key. */
export function needsKey(path: string): boolean {
  return path.startsWith('/v1/') || path.startsWith('/admin/') || path === '/v1' || path === '/admin';
}

/** The pattern of the route that a request is for; `other` for what leads nowhere. */
export const routeOf = ({ url }: Request): string => routeAt(pathOf(url))?.path ?? 'other';

/** Whether a request is for a path that is only for those with a key. */
export const isGuarded = ({ url }: Request): boolean => needsKey(pathOf(url));

/** The pattern under which the guard lets in to one of the router's. */
export const guardedAs = (route: string): string | undefined => routeAt(route)?.path;

/** The methods of a route that pages of other origins may use, as a header tells them; null for one that they may not. */
export function methodsAt({ url }: Request): string | null {
  const path = pathOf(url);
  if (!path.startsWith('/v1/') && path !== '/.well-known/x402') return null;
  const route = routeAt(path);
  return route ? [...route.methods.keys()].join(', ') : null;
}

/** Whether a request is for a route that reads no body. */
export function takesNoBody({ method, url }: Request): boolean {
  return routeAt(pathOf(url))?.methods.get(method)?.body === 'none';
}

/** What a URL is where the request named a host: only then do the guard and the router read the same path in it. */
const WITH_HOST = /^http:\/\/[^/?#@\\\s]+\//;

/** The path of a URL with a host, found without parsing the rest of it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}

export interface GuardRules {
  authenticate(header: string | null): Authentication;
  /** The policy in force. */
  policy(): Pick<PolicySnapshot, 'gateway' | 'rateLimits' | 'payments'>;
  /** Whether the operator has shut a wallet out. */
  isBlocked(wallet: string): boolean;
  readonly limiter: Limiter;
  readonly gate: Gate;
}

/** Where a probe that is refused would take a gateway that works out of its balancer. They cost no more than the refusal. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Admits a request before a byte of its body is read: path, key, scope, method, type, size, a place and the rate limits,
 * in that order. The caller is noted in the context as soon as its key is read; on a guarded route the context gets its
 * admission.
 * @param peers asked only where the address counts
 * @throws SignalboxError
 */
export function admit(request: Request, rules: GuardRules, peers: Peers | null, context: RequestContext): void {
  if (!WITH_HOST.test(request.url)) {
    throw new SignalboxError('invalid_value', 'The header Host is missing, or is not the name of a host.', {
      param: 'Host',
    });
  }
  const path = pathOf(request.url);
  const { headers } = request;
  if (headerBytes(headers) > HEADER_BYTES_MAX) {
    throw new SignalboxError('headers_too_large', `The headers may have at most ${HEADER_BYTES_MAX} bytes together.`);
  }
  const route = routeAt(path);
  const isOpen = !needsKey(path);
  const isForPay = !isOpen && isPayable(request, route, rules);
  // A key that was sent must be a good one: a bad one is never a reason to pay instead.
  const isKeyless = isForPay && !headers.has('authorization');
  const caller = isOpen || isKeyless ? null : authenticated(request, rules, peers, isForPay);
  context.caller = caller;
  if (isKeyless || (isOpen && !PROBES.has(path))) throttle('keyless', request, rules, peers);
  if (!route) throw nothingAt(path);
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
  if (isKeyless && headers.has('x-payment')) throw olderVersion();
  const bytesMax = bodyBytesMax(rules.policy(), isKeyless);
  if (method === 'POST' && rule.body !== 'none') checkBodyHeaders(headers, bytesMax);
  if (isOpen) return;
  context.admit(rule.counts ? counted(request, caller, rules, peers) : { caller, ...UNCOUNTED });
}

const UNCOUNTED = { place: null, quota: null, acceptPayer: () => null };

/** Whether who has no key may pay for it. */
const isPayable = ({ method }: Request, route: Route | undefined, rules: GuardRules): boolean =>
  route?.methods.get(method)?.pays === true && rules.policy().payments !== null;

/** Bytes of the largest body that is read, of a request with a key or without. */
export function bodyBytesMax({ gateway, payments }: ReturnType<GuardRules['policy']>, isKeyless: boolean): number {
  return isKeyless && payments ? Math.min(payments.bodyBytesMax, gateway.bodyBytesMax) : gateway.bodyBytesMax;
}

/**
 * Whom there is no place for is not counted, and who is over a limit takes no place. A wallet without a key is counted
 * once it has proved itself.
 */
function counted(
  request: Request,
  caller: Caller | null,
  { policy, limiter, gate, isBlocked }: GuardRules,
  peers: Peers | null,
): Admission {
  const { admission } = policy().gateway;
  // Looked up at once where it may be asked for later: by then the connection can be gone.
  const address = caller ? null : callerAddress(request, peers, admission.trustedProxies);
  const who = caller?.keyId ?? address ?? '';
  const bytes = bytesAtOnce(request);
  gate.check(admission, who, bytes);
  const count = (counted: Caller) =>
    limiter.admit(
      policy().rateLimits,
      counted,
      () => address ?? callerAddress(request, peers, admission.trustedProxies),
    );
  const quota = caller && count(caller);
  const place = gate.enter(admission, who, bytes);
  return {
    caller,
    place,
    quota,
    acceptPayer(payer) {
      if (isBlocked(payer.keyId)) throw blockedError();
      return caller ? null : count(payer);
    },
  };
}

const olderVersion = () =>
  new SignalboxError(
    'unsupported_x402_version',
    'Payments are taken by version 2 of x402, in the header PAYMENT-SIGNATURE, not by X-PAYMENT.',
    { param: 'X-PAYMENT' },
  );

/**
 * The key is looked at first, whatever came from the address before: a good one passes. Who could pay in its place is told
 * how: clients send a key by themselves, be it one that is none.
 */
function authenticated(request: Request, rules: GuardRules, peers: Peers | null, isForPay: boolean): Caller {
  const { caller, reason } = rules.authenticate(request.headers.get('authorization'));
  if (caller) {
    if (isWallet(caller.keyId) && rules.isBlocked(caller.keyId)) throw blockedError();
    return caller;
  }
  throttle('failed-auth', request, rules, peers);
  // Why a key is refused is nobody's business who does not hold it; how to send one is.
  const isNone = reason === 'missing' || reason === 'malformed';
  const help = 'Send an API key in the header Authorization: Bearer sb_live_….';
  const message = !isNone
    ? 'The API key is not valid.'
    : reason === 'missing'
      ? help
      : `What was sent is no key of this gateway. ${help}`;
  throw new SignalboxError(
    'invalid_api_key',
    isForPay ? `${message} To pay by x402, leave the header Authorization out.` : message,
  );
}

/** Counts a request by its address. Throws SignalboxError `rate_limit_exceeded` when there were too many. */
function throttle(offence: Offence, request: Request, rules: GuardRules, peers: Peers | null): void {
  const { trustedProxies, failedAuthPerMinute, keylessPerMinute } = rules.policy().gateway.admission;
  const perMinute = offence === 'failed-auth' ? failedAuthPerMinute : keylessPerMinute;
  const retryAfterMs = rules.limiter.count(offence, callerAddress(request, peers, trustedProxies), perMinute);
  if (retryAfterMs === 0) return;
  const [what, limit] =
    offence === 'failed-auth'
      ? ['without a valid API key', 'gateway.failed_auth_per_minute']
      : ['without an API key', 'gateway.keyless_per_minute'];
  throw new SignalboxError(
    'rate_limit_exceeded',
    `More than ${perMinute} requests a minute ${what} came from this address; try again in ${durationText(retryAfterMs)}.`,
    // A bad key will not become a good one.
    { details: { limit, kind: 'requests' }, retryAfterMs, ...(offence === 'failed-auth' && { retry: false }) },
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

/** Clients are mostly given a base URL without `/v1`, or speak another of OpenAI's APIs, as the AI SDK does unless told. */
function nothingAt(path: string): SignalboxError {
  const nothing = `There is nothing at ${printable(path)}.`;
  const help = routeAt(`/v1${path}`)
    ? ` ${printable(`/v1${path}`)} is there: a client’s base URL ends with /v1.`
    : path.startsWith('/v1/')
      ? ' Of OpenAI’s API, /v1/chat/completions and /v1/models are there.'
      : '';
  return new SignalboxError('not_found', `${nothing}${help}`);
}

/** A caller's path, fit to be repeated. */
function printable(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}…` : path;
}
