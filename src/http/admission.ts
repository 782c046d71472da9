import type { Authentication } from '../access/key-entry.ts';
import type { Levels } from '../access/levels.ts';
import type { BodyRoom, Gate, GatePlace } from '../access/limits/gate.ts';
import type { Limiter } from '../access/limits/limiter.ts';
import type { Quota } from '../access/limits/quota.ts';
import { tokenIn } from '../access/tokens/form.ts';
import { tokenAdvice } from '../access/tokens/refusal.ts';
import type { Tokens } from '../access/tokens/tokens.ts';
import { checkAction, isAction } from '../admin/use-cases/roles.ts';
import { type Awaitable, whenReady } from '../core/awaitable.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { type Caller, isOperator, OPERATOR, roleOf, rootOf } from '../core/people/caller.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { FundingSource } from '../gateway/money/funding.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import type { Admission } from '../gateway/request/request-life.ts';
import { checkAge } from '../store/unwritten.ts';
import { checkBody } from './body-headers.ts';
import { type LoginDoor, notSignedIn } from './console/login-door.ts';
import { changerOf, type DailyChanges } from './daily-changes.ts';
import { callerAddress, type Peers } from './kit/address.ts';
import { credentialsIn, formAdvice, KEY_HELP, keyHeadersOf, takeQueryKey } from './kit/credentials.ts';
import type { KeySender } from './kit/route-services.ts';
import { pathOf, type RouteEntry, type RouteRule, type RouteTable } from './kit/route-table.ts';
import { nothingAt, printable } from './kit/unknown-path.ts';
import { operatorOf } from './operator-socket.ts';
import { throttle, throttleLine } from './throttle.ts';

/** The maximum size of all header names and values together, in bytes. */
const HEADER_BYTES_MAX = 16_384;

/** Matches the URL of a request with a `Host` header. Admission and the router read the same path only from a URL that has the `Host`. */
const WITH_HOST = /^http:\/\/[^/?#@\\\s]+\//;

/** The parts of the policy that admission reads. */
type AdmissionPolicies = Pick<PolicySnapshot, 'gateway' | 'rateLimits' | 'countsAddresses' | 'payments' | 'tokens'>;

/** The rules of admission. */
export interface AdmissionRules {
  readonly routes: RouteTable;
  authenticate(header: string | null): Authentication;
  /** Returns who sends a request with a key but without its secret; null for a request with its own credentials. */
  senderOf(request: Request): KeySender | null;
  /** See `Keys.actAs`. */
  actAs(id: string): Authentication;
  /** The tokens that callers may send instead of keys. */
  readonly tokens: Pick<Tokens, 'find' | 'check' | 'ageMs'>;
  /** Returns the active policy. */
  policy(): AdmissionPolicies;
  readonly funding: Pick<FundingSource, 'keyless' | 'checkBlocked'>;
  readonly limiter: Limiter;
  /** Adds the terms of the team, user and other levels to a caller. */
  readonly levels: Pick<Levels, 'of'>;
  readonly gate: Gate;
  readonly changes: Pick<DailyChanges, 'take'>;
  readonly logins: Pick<LoginDoor, 'admit' | 'loginOf' | 'checkOwnPage'>;
  /** Throws SignalboxError for a preflight that the policy does not allow. */
  refusePreflight(request: Request, route: RouteEntry): void;
}

/**
 * Paths that are never throttled. A load balancer would remove a working gateway if the gateway refused a probe, and answering a probe is
 * as cheap as refusing it.
 */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/health', '/readyz']);

/**
 * Admits a request before a byte of its body is read. `admit` checks the path, key, method, scope, content type and size of the request in
 * this order, and then the rate limits. `admit` sets the caller in the context as soon as the key is read, and sets the admission on a
 * route that needs a key.
 * @param peers used only if the address counts
 * @returns a promise if a token must be checked or the store must be asked for limits; the promise rejects with the same errors
 * @throws SignalboxError
 */
export function admit(
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  context: RequestContext,
  route: RouteEntry | undefined,
): Awaitable<void> {
  checkForm(request);
  const { headers } = request;
  if (!route) {
    // An unknown path gets the same answer with and without a key, so that a caller does not mistake a wrong base URL for a wrong key.
    context.client.caller = rules.authenticate(credentialsIn(headers)).caller;
    if (!context.caller) throttle('keyless', placeOf(request, rules, peers), rules);
    throw nothingAt(pathOf(request.url), rules.routes);
  }
  if (route.keyParameter !== undefined) takeQueryKey(request, route.keyParameter);
  const { isOpen } = route;
  const { method } = context;
  if (method === 'OPTIONS') rules.refusePreflight(request, route);
  const policy = rules.policy();
  const rule = route.methods.get(method === 'HEAD' ? 'GET' : method);
  // Whether a caller without a key may pay for the request.
  const isForPay = !isOpen && rule?.pays === true && rules.funding.keyless.isOpen(policy);
  const credentials = isOpen ? null : credentialsIn(headers);
  const sender = rules.senderOf(request);
  if (sender) context.client.sentBy = sender.sentBy;
  // A request with an invalid key is refused. A payment cannot replace the key.
  const isKeyless = isForPay && credentials === null && !sender;
  const login = route.takesLogins ? rules.logins.admit(request, credentials !== null) : null;
  if (login) context.client.isSignedIn = true;
  const caller =
    login ?? (isOpen || isKeyless ? null : authenticated(request, rules, peers, credentials, isForPay, context));
  return caller instanceof Promise
    ? enterLater(caller, request, rules, peers, context, route, rule)
    : enter(request, rules, peers, context, route, rule, caller);
}

/** Admits a request whose caller is not known yet. */
function enterLater(
  caller: Promise<Caller | 'ended'>,
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  context: RequestContext,
  route: RouteEntry,
  rule: RouteRule | undefined,
): Promise<void> {
  let place: GatePlace | null;
  try {
    place = rule ? unprovenPlace(request, rules, peers, context, rule) : null;
  } catch (cause) {
    // The request is refused before its caller is known. If the caller is known later, no memory may be reserved for the refused request.
    caller.catch(() => {});
    throw cause;
  }
  return caller
    .finally(() => place?.leave())
    .then((found) => enter(request, rules, peers, context, route, rule, found));
}

/** Roughly the maximum number of unread body bytes that the server holds. */
const UNREAD_BYTES_MAX = 1_048_576;

/**
 * Reserves memory for the body of a request whose caller is not known yet, because a token is being checked or a login is being renewed.
 * The server holds the body unread until it knows the caller.
 * @throws SignalboxError for a body that no caller may send, and `overloaded`
 */
function unprovenPlace(
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  context: RequestContext,
  rule: RouteRule,
): GatePlace {
  const policy = rules.policy();
  checkBody(request.headers, context, rule, policy, rules.funding, false);
  const isUnknown = request.headers.has('transfer-encoding');
  const bytes = Math.min(isUnknown ? UNREAD_BYTES_MAX : context.body.bytes, UNREAD_BYTES_MAX);
  const login = rules.logins.loginOf(request);
  return login
    ? rules.gate.enterBody(policy.gateway, rootOf(login.caller), bytes)
    : rules.gate.enterBody(policy.gateway, placeOf(request, rules, peers), bytes, 'unproven');
}

/**
 * The error for a method that a path does not accept. If the path has a word where an ID is expected, the text says that the word was read
 * as an ID.
 */
function wrongMethod(path: string, method: string, { path: pattern, allow }: RouteEntry): SignalboxError {
  const form = pattern.replaceAll(/(?<=\/):(\w+)/g, '{$1}');
  const reading = form === pattern ? '' : `is read as ${form}, which `;
  const message = `${printable(path)} ${reading}accepts ${allow}, not ${method}.`;
  return new SignalboxError('method_not_allowed', message, { headers: { allow } });
}

/**
 * Admits a request whose caller is known. The caller is null on an open route, and for a caller without a key who may pay. `enter` returns
 * and throws like `admit`.
 */
function enter(
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  context: RequestContext,
  entry: RouteEntry,
  rule: RouteRule | undefined,
  found: Caller | 'ended' | null,
): Awaitable<void> {
  const { isOpen, path } = entry;
  const policy = rules.policy();
  const caller = found === 'ended' ? refuseEnded(request, rules, peers) : found && rules.levels.of(found);
  const isKeyless = !isOpen && caller === null;
  context.client.caller = caller;
  if (isKeyless || (isOpen && !PROBES.has(path))) throttle('keyless', placeOf(request, rules, peers), rules);
  if (!rule) throw wrongMethod(pathOf(request.url), context.method, entry);
  const { access } = rule;
  if (caller) checkAccess(caller, access);
  if (isKeyless) rules.funding.keyless.checkHeaders(request.headers);
  if (rule.ownPages) rules.logins.checkOwnPage(request);
  const hasBody = checkBody(request.headers, context, rule, policy, rules.funding, isKeyless);
  const changer = caller && changerOf(caller, rule);
  if (changer) rules.changes.take(request, changer);
  if (isOpen) {
    if (hasBody) context.life.place = bodyPlace(request, context, policy, rules, peers);
    return;
  }
  const admission = rule.counts
    ? counted(request, context, policy, rules, peers)
    : uncounted(request, context, policy, rules, peers, hasBody);
  if (admission instanceof Promise) return admitLater(admission, context);
  context.admit(admission);
}

const admitLater = (admission: Promise<Admission>, context: RequestContext): Promise<void> =>
  admission.then((found) => context.admit(found));

/**
 * Checks the caller of an admitted request again with its current terms.
 * @throws SignalboxError like `admit`
 */
export async function readmit(request: Request, rules: AdmissionRules, peers: Peers | null, context: RequestContext) {
  const credentials = credentialsIn(request.headers);
  // A caller who paid without a key has no terms to check.
  if (credentials === null) return context.caller ? rules.funding.checkBlocked(context.caller) : undefined;
  const caller = rules.levels.of(await authenticated(request, rules, peers, credentials, false, context));
  const rule = rules.routes.at(context.route)?.methods.get(context.method);
  if (rule) checkAccess(caller, rule.access);
  context.client.caller = caller;
}

function checkForm({ url, headers }: Request): void {
  if (!WITH_HOST.test(url)) {
    refuse('Host', 'The Host header is missing. Send the host name of the server.');
  }
  // Routes parse the URL to read its query, so it must be valid.
  if (!URL.canParse(url)) {
    const message = `The Host header \`${printable(headers.get('host') ?? '')}\` is not a valid host. Send a name or an address, with the port if it is not 80: \`gateway.example.com\`, \`192.0.2.7:8787\` or \`[2001:db8::7]:8787\`.`;
    throw new SignalboxError('wrong_host', message, { param: 'Host' });
  }
  if (headerBytes(headers) > HEADER_BYTES_MAX) {
    throw new SignalboxError(
      'headers_too_large',
      `The headers are too large. All names and values together may have at most ${HEADER_BYTES_MAX} bytes.`,
    );
  }
}

/**
 * Counts a request as a failed authentication.
 * @throws SignalboxError `rate_limit_exceeded` if the address had too many failed authentications
 */
export const countFailedAuth = (request: Request, rules: AdmissionRules, peers: Peers | null): void =>
  throttle('failed-auth', placeOf(request, rules, peers), rules);

/**
 * Refuses a cookie whose login does not exist or has ended, and counts it as a failed authentication.
 * @throws SignalboxError
 */
function refuseEnded(request: Request, rules: AdmissionRules, peers: Peers | null): never {
  countFailedAuth(request, rules, peers);
  throw notSignedIn();
}

/** @throws SignalboxError `insufficient_permissions` */
function checkAccess(caller: Caller, access: RouteRule['access']): void {
  if (isAction(access)) checkAction(caller, access);
  else if (access !== 'open' && !caller.scopes.has(access)) {
    throw new SignalboxError('insufficient_permissions', `This API key lacks the scope \`${access}\`.`);
  }
}

const acceptNoPayer = () => null;

/**
 * Admits a read with a report key or with the login of a person who is no operator. Reads with report keys or logins have a separate rate
 * limit.
 */
function uncounted(
  request: Request,
  context: RequestContext,
  policy: AdmissionPolicies,
  rules: AdmissionRules,
  peers: Peers | null,
  hasBody: boolean,
): Awaitable<Admission> {
  const { caller } = context;
  const isLogin = rules.logins.loginOf(request) !== null;
  const isCounted = caller !== null && (isLogin ? !isOperator(caller) : roleOf(caller) === 'report');
  if (isCounted) {
    const counting = rules.limiter.admitReport(caller, policy.gateway.reportsPerMinute, isLogin);
    return countedRead(counting, request, context, policy, rules, peers, hasBody);
  }
  const place = hasBody ? bodyPlace(request, context, policy, rules, peers) : null;
  return { caller, place, quota: null, acceptPayer: acceptNoPayer };
}

function countedRead(
  counting: Awaitable<Quota>,
  request: Request,
  context: RequestContext,
  policy: AdmissionPolicies,
  rules: AdmissionRules,
  peers: Peers | null,
  hasBody: boolean,
): Awaitable<Admission> {
  return whenReady(counting, (quota): Admission => {
    try {
      const place = hasBody ? bodyPlace(request, context, policy, rules, peers) : null;
      return { caller: context.caller, place, quota, acceptPayer: acceptNoPayer };
    } catch (cause) {
      quota.undo();
      throw cause;
    }
  });
}

const roomOf = (caller: Caller | null): BodyRoom => (caller ? 'callers' : 'strangers');

/**
 * Reserves memory for the body of a request without a slot at the gate.
 * @throws SignalboxError `overloaded`
 */
function bodyPlace(
  request: Request,
  { caller, body }: RequestContext,
  { gateway }: AdmissionPolicies,
  { gate }: AdmissionRules,
  peers: Peers | null,
): GatePlace {
  const who = caller ? rootOf(caller) : callerAddress(request, peers, gateway.trustedProxies);
  return gate.enterBody(gateway, who, gate.bytesAtOnce(gateway, body.bytes), roomOf(caller));
}

/**
 * Takes a slot at the gate and counts the request. A request without a slot is not counted, and a request over a limit takes none. A caller
 * without a key is counted only when its payment has been verified.
 */
function counted(
  request: Request,
  { caller, body }: RequestContext,
  { gateway, rateLimits, countsAddresses }: AdmissionPolicies,
  rules: AdmissionRules,
  peers: Peers | null,
): Awaitable<Admission> {
  const { limiter, gate } = rules;
  // The address is read now even if the payer is counted later, because the connection can be gone by then.
  const address = !caller || countsAddresses ? callerAddress(request, peers, gateway.trustedProxies) : '';
  const who = caller ? rootOf(caller) : address;
  const bytes = gate.bytesAtOnce(gateway, body.bytes);
  gate.check(gateway, who, bytes, roomOf(caller));
  const isLimited = caller !== null && (rateLimits.length > 0 || hasLimits(caller));
  const quota = isLimited ? limiter.admit(rateLimits, caller, address) : null;
  return quota
    ? enterCounted(quota, rules, gateway, who, bytes, caller, address)
    : new CountedAdmission(caller, gate.enter(gateway, who, bytes, roomOf(caller)), null, rules, address);
}

function enterCounted(
  counting: Awaitable<Quota>,
  rules: AdmissionRules,
  gateway: AdmissionPolicies['gateway'],
  who: string,
  bytes: number,
  caller: Caller | null,
  address: string,
): Awaitable<Admission> {
  return whenReady(counting, (quota) => {
    try {
      const place = rules.gate.enter(gateway, who, bytes, roomOf(caller));
      return new CountedAdmission(caller, place, quota, rules, address);
    } catch (cause) {
      // The quota was taken while the store was still being asked.
      quota.undo();
      throw cause;
    }
  });
}

/** The admission of a request on a route that counts. */
class CountedAdmission implements Admission {
  readonly caller: Caller | null;
  readonly place: GatePlace;
  readonly quota: Quota | null;
  readonly #rules: AdmissionRules;
  readonly #address: string;

  constructor(caller: Caller | null, place: GatePlace, quota: Quota | null, rules: AdmissionRules, address: string) {
    this.caller = caller;
    this.place = place;
    this.quota = quota;
    this.#rules = rules;
    this.#address = address;
  }

  acceptPayer(payer: Caller): Awaitable<Quota | null> {
    const { funding, limiter, levels, policy } = this.#rules;
    funding.checkBlocked(payer);
    return this.caller ? null : limiter.admit(policy().rateLimits, levels.of(payer), this.#address);
  }
}

/** Whether a caller, or a key, team or user above it, may have its own limits. */
const hasLimits = ({ limits, parent, levels }: Caller): boolean =>
  limits !== null || parent !== undefined || levels !== undefined;

/**
 * Authenticates a request with its key or token. A valid key passes even from a locked-out address, and so does a token that was checked
 * before. If the request could be paid without a key, the error says that, because clients often send placeholder keys.
 */
function authenticated(
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  credentials: string | null,
  isForPay: boolean,
  context: RequestContext,
): Awaitable<Caller> {
  if (operatorOf(request)) return OPERATOR;
  const sender = rules.senderOf(request);
  const authentication = sender ? rules.actAs(sender.keyId) : rules.authenticate(credentials);
  checkAge(authentication.ageMs, 'API keys');
  if (authentication.caller) {
    context.client.caller = authentication.caller;
    rules.funding.checkBlocked(authentication.caller);
    return authentication.caller;
  }
  return withoutValidKey(authentication, request, rules, peers, credentials, isForPay, context);
}

/** Authenticates a request with its token, if it has one. */
function withoutValidKey(
  { known, reason, root }: Extract<Authentication, { caller: null }>,
  request: Request,
  rules: AdmissionRules,
  peers: Peers | null,
  credentials: string | null,
  isForPay: boolean,
  context: RequestContext,
): Awaitable<Caller> {
  const advise = (message: string) =>
    isForPay ? `${message} ${rules.funding.keyless.advice(keyHeadersOf(request.headers))}` : message;
  const address = placeOf(request, rules, peers);
  const token = rules.policy().tokens.length > 0 ? tokenIn(credentials) : null;
  if (token !== null) return authenticatedByToken(token, address, rules, advise, context);
  context.client.denied = known ? { caller: known, reason } : null;
  const isSuspended = reason === 'suspended';
  // A request with a suspended key contains the right secret, so it is not a guess.
  if (!isSuspended) throttle('failed-auth', address, rules);
  if (root !== undefined) throttleLine(root, rules);
  if (isSuspended) {
    throw new SignalboxError(
      'key_suspended',
      'This API key is suspended. Ask the person who gave you the key to resume it.',
    );
  }
  throw new SignalboxError('invalid_api_key', advise(keyAdvice(reason, credentials)));
}

/** Returns the caller of a token, without waiting if the token was checked before. */
function authenticatedByToken(
  token: string,
  address: string,
  rules: AdmissionRules,
  advise: (message: string) => string,
  context: RequestContext,
): Awaitable<Caller> {
  const { tokens, funding } = rules;
  checkAge(tokens.ageMs, 'blocked subjects');
  const caller = tokens.find(token, rules.policy().tokens);
  if (!caller) return checkedToken(token, address, rules, advise, context);
  context.client.caller = caller;
  funding.checkBlocked(caller);
  return caller;
}

/**
 * Counts each signature check as a failure until the check succeeds, so that a sender cannot force more checks than failures are allowed.
 */
async function checkedToken(
  token: string,
  address: string,
  rules: AdmissionRules,
  advise: (message: string) => string,
  context: RequestContext,
): Promise<Caller> {
  let isCounted = false;
  const count = () => {
    throttle('failed-auth', address, rules);
    isCounted = true;
  };
  const found = await rules.tokens.check(token, rules.policy().tokens, address, count);
  if ('caller' in found) {
    context.client.caller = found.caller;
    if (isCounted) rules.limiter.giveBack('failed-auth', address);
    rules.funding.checkBlocked(found.caller);
    return found.caller;
  }
  const { refusal } = found;
  if (refusal === 'unavailable') {
    const message = 'The keys of this token’s issuer cannot be read now. Try again.';
    throw new SignalboxError('overloaded', message, { retryAfterMs: found.waitMs });
  }
  if (!isCounted) count();
  throw new SignalboxError('invalid_api_key', advise(tokenAdvice(refusal)));
}

/** The address of a caller in the form that limits count. */
const placeOf = (request: Request, rules: AdmissionRules, peers: Peers | null): string =>
  callerAddress(request, peers, rules.policy().gateway.trustedProxies);

/** Says how to send a key. The advice never tells a stranger why a key of valid form is refused. */
function keyAdvice(reason: Authentication['reason'], credentials: string | null): string {
  if (reason === 'missing') return KEY_HELP;
  return reason === 'malformed'
    ? formAdvice(credentials)
    : 'This API key is not valid. It is unknown, expired or revoked, or was cut off when it was copied.';
}

function headerBytes(headers: Headers): number {
  let bytes = 0;
  headers.forEach((value, name) => {
    bytes += name.length + value.length;
  });
  return bytes;
}
