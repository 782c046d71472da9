import { bearerOf, looksLikeKey } from '../../access/key.ts';
import { looksLikeToken, tokenIn } from '../../access/tokens/form.ts';
import { SURFACES } from '../../dialects/surfaces.ts';
import { queryOf } from './route-table.ts';

/**
 * The headers that may contain an API key on every route, because client libraries use different headers. `authorization` has a scheme
 * before the key, the other headers have only the key.
 */
export const KEY_HEADERS: readonly string[] = [
  'authorization',
  ...new Set(SURFACES.flatMap(({ keyHeaders = [] }) => keyHeaders)),
];
const OTHER_KEY_HEADERS = KEY_HEADERS.slice(1);

/** Represents two different keys in one request. The text `two keys` does not have the form of a key, so it is never valid. */
const TWO_KEYS = 'two keys';

/** Represents a key in the query that has other characters than keys and tokens, which a header may not be able to contain. */
const NO_KEY = 'no key';
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * Returns the credentials of a request in the form of `authorization`; null if there are none. Some clients add placeholder keys, so a
 * value in the form of a Signalbox key wins over a token, and a token wins over any other value. Two different keys are refused, because a
 * guess would charge the wrong key.
 */
export function credentialsIn(headers: Headers): string | null {
  if (!hasOtherKey(headers)) return headers.get('authorization');
  let found: string | null = null;
  let key: string | null = null;
  for (const name of KEY_HEADERS) {
    const text = headers.get(name);
    if (text === null) continue;
    if (text === TWO_KEYS) return TWO_KEYS;
    const credentials = name === 'authorization' ? text : `Bearer ${text}`;
    found ??= credentials;
    const token = bearerOf(credentials);
    if (token !== null && looksLikeToken(token) && key === null && tokenIn(found) === null) found = credentials;
    if (token === null || !looksLikeKey(token) || token === key) continue;
    if (key !== null) return TWO_KEYS;
    key = token;
    found = credentials;
  }
  return found;
}

function hasOtherKey(headers: Headers): boolean {
  for (const name of OTHER_KEY_HEADERS) if (headers.has(name)) return true;
  return false;
}

/**
 * Moves the key of a query into the first header that contains only a key, where every later step reads it. A different key is refused like
 * two keys in headers. Logs, traces and errors contain no query.
 * @param parameter the parameter of the route's dialect
 */
export function takeQueryKey({ url, headers }: Request, parameter: string): void {
  const [header] = OTHER_KEY_HEADERS;
  if (header === undefined || !url.includes(`${parameter}=`)) return;
  const keys = new URLSearchParams(queryOf(url)).getAll(parameter);
  const [key] = keys;
  if (!key) return;
  const others = OTHER_KEY_HEADERS.flatMap((name) => headers.get(name) ?? []);
  const isAlone = [...keys, ...others].every((one) => one === key) && isBearer(headers.get('authorization'), key);
  const carried = VISIBLE_ASCII.test(key) ? key : NO_KEY;
  headers.set(header, isAlone ? carried : TWO_KEYS);
}

/** Whether `authorization` is missing, or has this key. */
const isBearer = (authorization: string | null, key: string): boolean =>
  authorization === null || bearerOf(authorization) === key;

/** Explains how to send a key. */
export const KEY_HELP = `Send an API key in the header ${['Authorization: Bearer', ...OTHER_KEY_HEADERS.map((name) => `${name}:`)].map((header) => `${header} sb_live_…`).join(' or ')}.`;

/** Explains what is wrong with credentials that contain no key. */
export function formAdvice(credentials: string | null): string {
  if (credentials === TWO_KEYS) return 'The request has two different API keys. Send one of them.';
  return credentials !== null && looksLikeKey(credentials)
    ? `Write Bearer in front of the key. ${KEY_HELP}`
    : `The credentials do not have the form of a Signalbox API key. ${KEY_HELP}`;
}

/** The names of the headers with credentials, for messages: `Authorization and x-api-key`. */
export const keyHeadersOf = (headers: Headers): string =>
  KEY_HEADERS.filter((name) => headers.has(name))
    .map((name) => (name === 'authorization' ? 'Authorization' : name))
    .join(' and ');
