import * as oidc from 'openid-client';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import type { Claims } from '../../core/people/token-issuer.ts';
import type { SignInPolicy } from '../../core/policy/sign-in.ts';
import { outbound } from '../../host/outbound.ts';
import type { Transaction } from './transaction.ts';

/** The time limit of a whole request to the issuer, ms. */
const TIMEOUT_MS = 5_000;
/** The most bytes of an issuer's answer. */
const BYTES_MAX = 1_048_576;
/** How long the configuration of an issuer is cached, ms. An issuer that is unavailable is noticed within this time. */
const CONFIGURATION_MS = 30_000;
/** How far the clock of an issuer may be wrong, in seconds. */
const SKEW_S = 30;

/** The issuer does not answer, or fails. A later try may succeed. */
export class IssuerAway extends Error {
  override readonly name = 'IssuerAway';
}

/** The claims of a person, as the issuer has confirmed them. */
export interface Identity {
  readonly sub: string;
  /** The claims of the ID token, completed by the user info. */
  readonly claims: Claims;
  /** Null if the issuer returned none. */
  readonly refreshToken: string | null;
}

/** Signalbox as a client of the issuer. */
export interface IssuerClient extends Pick<SignInPolicy, 'issuer' | 'clientId' | 'scopes'> {
  /** Null for a public client. */
  readonly secret: string | null;
}

interface KnownConfiguration {
  readonly name: string;
  readonly at: number;
  readonly found: Promise<oidc.Configuration>;
}

/**
 * Sends requests to the issuer of the active policy: authorization code with PKCE, and refresh tokens. Caches the issuer's configuration
 * for half a minute. State: issuer.
 */
export class Issuer {
  readonly #now: () => number;
  #known: KnownConfiguration | null = null;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the URL at which a browser signs in. @throws IssuerAway, or another Error if the issuer violates the protocol */
  async authorizationUrl(client: IssuerClient, redirectUri: string, transaction: Transaction): Promise<URL> {
    const config = await this.#configuration(client);
    const { state, nonce, verifier } = transaction;
    return oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: client.scopes.join(' '),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
  }

  /**
   * Reads the issuer's answer from the browser, and exchanges its code for the claims.
   * @param url to which the issuer sent the browser, as the issuer knows it
   * @throws IssuerAway, or another Error if anything does not match
   */
  async identityBy(client: IssuerClient, url: URL, { state, nonce, verifier }: Transaction): Promise<Identity> {
    const config = await this.#configuration(client);
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    return identityOf(config, await around(() => oidc.authorizationCodeGrant(config, url, checks)), null);
  }

  /** Lets the issuer confirm the claims of a person again. @throws IssuerAway, or another Error if the issuer refuses */
  async identityAgain(client: IssuerClient, refreshToken: string, sub: string): Promise<Identity> {
    const config = await this.#configuration(client);
    const tokens = await around(() => oidc.refreshTokenGrant(config, refreshToken));
    const identity = await identityOf(config, tokens, refreshToken);
    if (identity.sub !== sub) throw new Error('the refresh token belongs to another person');
    return identity;
  }

  /** Resolves if the issuer answers. @throws IssuerAway, or another Error */
  async check(client: IssuerClient): Promise<void> {
    await this.#configuration(client);
  }

  #configuration({ issuer, clientId, secret }: IssuerClient): Promise<oidc.Configuration> {
    const name = JSON.stringify([issuer, clientId, secret]);
    const now = this.#now();
    const known = this.#known;
    if (known?.name === name && now - known.at < CONFIGURATION_MS) return known.found;
    const found = around(() => discovered(issuer, clientId, secret));
    this.#known = { name, at: now, found };
    found.catch(() => {
      if (this.#known?.found === found) this.#known = null;
    });
    return found;
  }
}

function discovered(issuer: string, clientId: string, secret: string | null): Promise<oidc.Configuration> {
  const isHere = isLoopbackHost(new URL(issuer).hostname);
  // Check signatures although the tokens come over TLS. Checking a signature costs one more request, but TLS may end at a proxy.
  const execute = [oidc.enableNonRepudiationChecks, ...(isHere ? [oidc.allowInsecureRequests] : [])];
  const metadata = { [oidc.clockTolerance]: SKEW_S };
  const proof = secret === null ? oidc.None() : proofBy(secret);
  const options = { execute, [oidc.customFetch]: asked, timeout: TIMEOUT_MS / 1_000 };
  return oidc.discovery(new URL(issuer), clientId, metadata, proof, options);
}

/** Sends the client secret in the header, which issuers accept unless they say otherwise, or else in the body. */
function proofBy(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...more) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const isInBody = methods?.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (isInBody ? post : basic)(server, ...more);
  };
}

async function identityOf(
  config: oidc.Configuration,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
  before: string | null,
): Promise<Identity> {
  const claims = tokens.claims();
  if (!claims) throw new Error('the issuer sent no ID token');
  const { sub } = claims;
  const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
  const more = hasMore ? await around(() => oidc.fetchUserInfo(config, tokens.access_token, sub)) : {};
  return { sub, claims: { ...more, ...claims }, refreshToken: tokens.refresh_token ?? before };
}

/** Sends a request of the library with our limits. The request does not follow redirects, because the library accepts no redirects. */
const asked: oidc.CustomFetch = async (url, { method, headers, body }) => {
  const target = new URL(url);
  if (target.protocol !== 'https:' && !isLoopbackHost(target.hostname)) {
    throw new Error('the issuer names a URL without https');
  }
  const reply = await outbound({
    url,
    method: method === 'POST' ? 'POST' : 'GET',
    headers,
    ...(body != null && { body: String(body) }),
    allowPrivate: true,
    timeoutMs: TIMEOUT_MS,
    bytesMax: BYTES_MAX,
  }).catch((cause) => {
    throw new IssuerAway('the issuer does not answer', { cause });
  });
  if (reply.status >= 500 || reply.status === 429)
    throw new IssuerAway(`the issuer answers with status ${reply.status}`);
  if (reply.isCut) throw new Error(`an answer of the issuer is larger than ${BYTES_MAX} bytes`);
  return new Response(NO_BODY.has(reply.status) ? null : reply.text, { status: reply.status, headers: reply.headers });
};

const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The library wraps our own errors in its own. Unwraps them. */
async function around<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    for (let one: unknown = cause; one instanceof Error; one = one.cause) if (one instanceof IssuerAway) throw one;
    throw cause;
  }
}

/** Errors that mean that a refresh token no longer works, or that the person must sign in again. */
const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_grant',
  'interaction_required',
  'login_required',
  'consent_required',
]);

/** Whether the issuer refused a refresh token because it was revoked, or because the person must sign in again. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof oidc.ResponseBodyError && REFUSALS.has(error.error);

/**
 * Describes a protocol error in one sentence for the log: what the issuer said, or what did not match. The description never contains a
 * token.
 */
export function faultText(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    return [error.error, error.error_description].filter(Boolean).join(': ').slice(0, 300);
  }
  const reasons: string[] = [];
  for (let one: unknown = error; one instanceof Error && reasons.length < 3; one = one.cause) reasons.push(one.message);
  return [...new Set(reasons)].join(': ').slice(0, 300);
}
