import { createHash, createHmac } from 'node:crypto';
import { iso } from '../../core/time/clock.ts';

/** Credentials of AWS that sign requests. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Null for long-lived keys. */
  readonly sessionToken: string | null;
}

/** What a signature is valid for. */
interface Scope {
  readonly service: string;
  readonly region: string;
  /** The time of the signature, ms since 1970. */
  readonly at: number;
  readonly keys: AwsKeys;
}

interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  /** Headers to sign in addition to `host`, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** `20150830T123600Z` */
const stamp = (at: number): string => `${iso(at).slice(0, 19).replace(/[-:]/g, '')}Z`;

const scopeOf = ({ service, region, at }: Scope): string =>
  `${stamp(at).slice(0, 8)}/${region}/${service}/aws4_request`;

/** Encodes all characters except the unreserved ones of RFC 3986. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

const queryOf = (parameters: Iterable<readonly [string, string]>): string =>
  [...parameters]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');

/** @returns the signature, in hexadecimal digits, and the names of the signed headers */
function signatureOf({ method, url, headers = {}, body = '' }: UnsignedRequest, query: string, scope: Scope) {
  const { host, pathname } = new URL(url);
  const signed = Object.entries({ host, ...headers }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [method, pathname, query, lines, names, sha256(body)].join('\n');
  const text = [ALGORITHM, stamp(scope.at), scopeOf(scope), sha256(canonical)].join('\n');
  const { secretAccessKey } = scope.keys;
  const key = scopeOf(scope).split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return { names, signature: hmac(key, text).toString('hex') };
}

/** Returns the headers of a request with a signature (Signature Version 4), except `host`. */
export function signedHeaders(request: UnsignedRequest, scope: Scope): Readonly<Record<string, string>> {
  const { sessionToken, accessKeyId } = scope.keys;
  const headers = {
    ...request.headers,
    'x-amz-date': stamp(scope.at),
    ...(sessionToken !== null && { 'x-amz-security-token': sessionToken }),
  };
  const query = queryOf(new URL(request.url).searchParams);
  const { names, signature } = signatureOf({ ...request, headers }, query, scope);
  const credential = `${accessKeyId}/${scopeOf(scope)}`;
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/**
 * Returns a URL with a signature in its query.
 * @param expiresS how long the URL is valid, s
 */
export function presignedUrl(request: Pick<UnsignedRequest, 'method' | 'url'>, scope: Scope, expiresS: number): string {
  const url = new URL(request.url);
  const { sessionToken, accessKeyId } = scope.keys;
  const parameters = [
    ...url.searchParams,
    ['X-Amz-Algorithm', ALGORITHM],
    ['X-Amz-Credential', `${accessKeyId}/${scopeOf(scope)}`],
    ['X-Amz-Date', stamp(scope.at)],
    ['X-Amz-Expires', `${expiresS}`],
    ...(sessionToken === null ? [] : [['X-Amz-Security-Token', sessionToken] as const]),
    ['X-Amz-SignedHeaders', 'host'],
  ] as const;
  const { signature } = signatureOf(request, queryOf(parameters), scope);
  return `${url.origin}${url.pathname}?${queryOf([...parameters, ['X-Amz-Signature', signature]])}`;
}
