import * as oidc from 'openid-client';
import { isLoopbackHost } from '../../core/loopback.ts';
import type { SignInPolicy } from '../../core/sign-in-policy.ts';
import type { Claims } from '../../core/token-issuer.ts';
import { outbound } from '../../host/outbound.ts';
import type { Transaction } from './transaction.ts';

/** The whole time for a request to the issuer, ms. */
const TIMEOUT_MS = 5_000;
/** Bytes of the largest answer of an issuer that is read. */
const BYTES_MAX = 1_048_576;
/** How long the configuration of an issuer is believed, ms: an issuer that is away is noticed within it. */
const CONFIGURATION_MS = 30_000;
/** How far the clock of an issuer may be off, seconds. */
const SKEW_S = 30;

/** The issuer does not answer, or fails. It may do better later. */
export class IssuerAway extends Error {
  override readonly name = 'IssuerAway';
}

/** The claims of a person, as the issuer has stated them. */
export interface Identity {
  readonly sub: string;
  /** Of the ID token, and of the user info beside. */
  readonly claims: Claims;
  /** Null where the issuer gives none. */
  readonly refreshToken: string | null;
}

/** The client that Signalbox is at the issuer. */
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
 * Asks the issuer of the policy in force: authorization code with PKCE, and refresh tokens. Keeps its configuration for half a minute.
 * State: issuer.
 */
export class Issuer {
  readonly #now: () => number;
  #known: KnownConfiguration | null = null;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Where a browser signs in. @throws IssuerAway, or another Error where the issuer breaks the protocol */
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
   * Takes the answer of the issuer to the browser, and changes its code for the claims.
   * @param url the address that the issuer sent the browser to, as the issuer knows it
   * @throws IssuerAway, or another Error where anything does not fit
   */
  async identityBy(client: IssuerClient, url: URL, { state, nonce, verifier }: Transaction): Promise<Identity> {
    const config = await this.#configuration(client);
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    return identityOf(config, await around(() => oidc.authorizationCodeGrant(config, url, checks)), null);
  }

  /** Has the claims of a person stated again. @throws IssuerAway, or another Error where the issuer refuses */
  async identityAgain(client: IssuerClient, refreshToken: string, sub: string): Promise<Identity> {
    const config = await this.#configuration(client);
    const tokens = await around(() => oidc.refreshTokenGrant(config, refreshToken));
    const identity = await identityOf(config, tokens, refreshToken);
    if (identity.sub !== sub) throw new Error('the refresh token is of another person');
    return identity;
  }

  /** Resolves where the issuer answers. @throws IssuerAway, or another Error */
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
  // Signatures are checked though the tokens come over TLS: it costs one more request, and TLS may end at a proxy.
  const execute = [oidc.enableNonRepudiationChecks, ...(isHere ? [oidc.allowInsecureRequests] : [])];
  const metadata = { [oidc.clockTolerance]: SKEW_S };
  const proof = secret === null ? oidc.None() : proofBy(secret);
  const options = { execute, [oidc.customFetch]: asked, timeout: TIMEOUT_MS / 1_000 };
  return oidc.discovery(new URL(issuer), clientId, metadata, proof, options);
}

/** In the header, as all issuers take it that do not say otherwise; else in the body. */
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

/** Sends a request of the library within our bounds. A redirect is an answer like others, and it accepts none. */
const asked: oidc.CustomFetch = async (url, { method, headers, body }) => {
  const target = new URL(url);
  if (target.protocol !== 'https:' && !isLoopbackHost(target.hostname)) {
    throw new Error('the issuer names an address without https');
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
  if (reply.status >= 500 || reply.status === 429) throw new IssuerAway(`the issuer answers ${reply.status}`);
  if (reply.isCut) throw new Error(`an answer of the issuer is larger than ${BYTES_MAX} bytes`);
  return new Response(NO_BODY.has(reply.status) ? null : reply.text, { status: reply.status, headers: reply.headers });
};

const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Takes what our own part has thrown out of the errors that the library makes of it. */
async function around<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    for (let one: unknown = cause; one instanceof Error; one = one.cause) if (one instanceof IssuerAway) throw one;
    throw cause;
  }
}

/** A refresh token no longer does, or the person has to be asked first. */
const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_grant',
  'interaction_required',
  'login_required',
  'consent_required',
]);

/** Whether the issuer has refused a refresh token: it was revoked, or the person may no longer sign in without being asked. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof oidc.ResponseBodyError && REFUSALS.has(error.error);

/** The sentence of an error about the protocol, for the log: what the issuer said, or what did not fit. Never a token. */
export function faultText(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    return [error.error, error.error_description].filter(Boolean).join(': ').slice(0, 300);
  }
  const reasons: string[] = [];
  for (let one: unknown = error; one instanceof Error && reasons.length < 3; one = one.cause) reasons.push(one.message);
  return [...new Set(reasons)].join(': ').slice(0, 300);
}
