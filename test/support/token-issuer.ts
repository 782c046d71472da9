import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { startOwnServer } from './own-server.ts';

export interface SignOptions {
  /** Members of the header in addition to `alg` and `kid`. */
  readonly header?: Readonly<Record<string, string>>;
  /** The name of the key; by default the first one. */
  readonly kid?: string;
}

/** A token issuer on this machine: its discovery document, its keys, and the tokens that it signs. */
export interface TestIssuer {
  readonly url: string;
  /** The number of requests so far, by path. */
  readonly requests: Map<string, number>;
  /** Answers in place of the issuer's own, by path; null for its own. */
  readonly answers: Map<string, () => Response | Promise<Response>>;
  readonly keys: object[];
  /** The public and private key for each name. */
  readonly pairs: ReadonlyMap<string, CryptoKeyPair>;
  /** Signs these claims, added to those of a valid token for ten minutes. An undefined claim is removed. */
  sign(claims?: JWTPayload, options?: SignOptions): Promise<string>;
  /** Creates a key and publishes it. */
  addKey(kid: string, algorithm?: string): Promise<void>;
  stop(): Promise<void>;
}

export const AUDIENCE = 'https://gateway.example';
/** The path of the issuer's keys. */
export const KEYS_PATH = '/keys';
export const DISCOVERY_PATH = '/.well-known/openid-configuration';

/** Starts an issuer whose first key, `one`, fits the algorithm. */
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
