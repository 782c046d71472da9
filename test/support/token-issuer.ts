import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { startOwnServer } from './own-server.ts';

export interface SignOptions {
  /** Members of the header beside `alg` and `kid`. */
  readonly header?: Readonly<Record<string, string>>;
  /** The name of the key; by default the first one. */
  readonly kid?: string;
}

/** An issuer of tokens on this machine: its discovery document, its keys, and what it signs. */
export interface TestIssuer {
  readonly url: string;
  /** Requests so far, by path. */
  readonly requests: Map<string, number>;
  /** Answers in place of the issuer's own, by path; null for its own. */
  readonly answers: Map<string, () => Response | Promise<Response>>;
  readonly keys: object[];
  /** The public and the private key of a name. */
  readonly pairs: ReadonlyMap<string, CryptoKeyPair>;
  /** Signs claims over those of a good token for ten minutes. A claim that is undefined is left out. */
  sign(claims?: JWTPayload, options?: SignOptions): Promise<string>;
  /** Makes a key and publishes it. */
  addKey(kid: string, algorithm?: string): Promise<void>;
  stop(): Promise<void>;
}

export const AUDIENCE = 'https://gateway.example';
/** Where the keys of the issuer stand. */
export const KEYS_PATH = '/keys';
export const DISCOVERY_PATH = '/.well-known/openid-configuration';

/** Starts an issuer whose first key, `one`, is of the kind that the algorithm needs. */
export async function startIssuer(algorithm = 'ES256'): Promise<TestIssuer> {
  const keys: object[] = [];
  const pairs = new Map<string, CryptoKeyPair>();
  const algorithms = new Map<string, string>();
  const requests = new Map<string, number>();
  const answers: TestIssuer['answers'] = new Map();
  const server = startOwnServer((request) => {
    const { pathname } = new URL(request.url);
    requests.set(pathname, (requests.get(pathname) ?? 0) + 1);
    const answer = answers.get(pathname);
    if (answer) return answer();
    if (pathname === DISCOVERY_PATH) return Response.json({ issuer: url, jwks_uri: `${url}${KEYS_PATH}` });
    return pathname === KEYS_PATH ? Response.json({ keys }) : new Response('', { status: 404 });
  });
  const { url } = server;
  const addKey: TestIssuer['addKey'] = async (kid, alg = algorithm) => {
    const pair = await generateKeyPair(alg, { extractable: true });
    pairs.set(kid, pair);
    algorithms.set(kid, alg);
    keys.push({ ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' });
  };
  await addKey('one');
  return {
    url,
    requests,
    answers,
    keys,
    pairs,
    addKey,
    sign(claims = {}, { header = {}, kid = 'one' } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const usual = { iss: url, aud: AUDIENCE, sub: 'robot', org: 'acme', iat: now, exp: now + 600 };
      const stated = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined);
      return new SignJWT(Object.fromEntries(stated))
        .setProtectedHeader({ alg: algorithms.get(kid) ?? algorithm, kid, ...header })
        .sign(pairs.get(kid)!.privateKey);
    },
    stop: server.stop,
  };
}
