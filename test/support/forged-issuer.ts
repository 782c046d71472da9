import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { startOwnServer } from './own-server.ts';

/** The deviations of a malicious or faulty issuer. Each applies only to the next answer. */
export interface Forgery {
  /** Members of the ID token. */
  readonly claims?: JWTPayload;
  /** How the token is signed: not at all, or with a key that the issuer does not publish. */
  readonly signature?: 'none' | 'other';
  /** The `iss` of the answer to the browser. */
  readonly iss?: string;
  /** The nonce of the token; absent: the nonce of the request. */
  readonly nonce?: string;
}

/** An issuer without pages: its authorization endpoint redirects each browser back at once. */
export interface ForgedIssuer {
  readonly url: string;
  next: Forgery;
  /** Members that replace members of the issuer's discovery document. */
  configuration: Readonly<Record<string, unknown>>;
  /** The authorization codes that browsers received. */
  readonly codes: string[];
  stop(): Promise<void>;
}

export async function startForgedIssuer(): Promise<ForgedIssuer> {
  const [own, other] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
  /** The nonce and the PKCE challenge for each code that is not used yet. */
  const open = new Map<string, { readonly nonce: string; readonly challenge: string }>();
  const idToken = (nonce: string): Promise<string> | string => {
    const { claims, signature, nonce: forged = nonce } = issuer.next;
    const now = Math.floor(Date.now() / 1_000);
    const usual = {
      iss: issuer.url,
      aud: 'signalbox',
      sub: 'mallory',
      iat: now,
      exp: now + 300,
      nonce: forged,
      groups: ['platform'],
    };
    const payload = { ...usual, ...claims };
    if (signature === 'none') return new UnsecuredJWT(payload).encode();
    return new SignJWT(payload)
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .sign((signature === 'other' ? other : own).privateKey);
  };
  const authorize = (url: URL): Response => {
    const value = (name: string) => url.searchParams.get(name) ?? '';
    const code = crypto.randomUUID();
    open.set(code, { nonce: value('nonce'), challenge: value('code_challenge') });
    issuer.codes.push(code);
    const back = new URL(value('redirect_uri'));
    back.search = new URLSearchParams({ code, state: value('state'), iss: issuer.next.iss ?? issuer.url }).toString();
    return new Response(null, { status: 302, headers: { location: back.href } });
  };
  const token = async (request: Request): Promise<Response> => {
    const body = new URLSearchParams(await request.text());
    const code = body.get('code') ?? '';
    const known = open.get(code);
    open.delete(code);
    const digest = new Bun.CryptoHasher('sha256').update(body.get('code_verifier') ?? '').digest('base64url');
    if (!known || digest !== known.challenge) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    return Response.json({
      access_token: 'a',
      token_type: 'Bearer',
      expires_in: 300,
      id_token: await idToken(known.nonce),
    });
  };
  const server = startOwnServer(async (request) => {
    const url = new URL(request.url);
    if (url.pathname === '/jwks') return Response.json({ keys: [jwk] });
    if (url.pathname === '/auth') return authorize(url);
    if (url.pathname === '/token') return token(request);
    return Response.json({
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/auth`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'none'],
      authorization_response_iss_parameter_supported: true,
      ...issuer.configuration,
    });
  });
  const issuer: ForgedIssuer = {
    url: server.url,
    next: {},
    configuration: {},
    codes: [],
    stop: server.stop,
  };
  return issuer;
}
