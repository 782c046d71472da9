import { bearerOf, looksLikeKey } from '../access/key.ts';
import { looksLikeToken, tokenIn } from '../access/tokens/form.ts';

/**
 * The headers that may bear an API key, on every route: clients of each API send their own. `authorization` holds a
 * scheme before the key, the others the key alone.
 */
export const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key'] as const;

/** Stands for two different keys in one request. It has the form of no key, so it admits nobody. */
const TWO_KEYS = 'two keys';

/**
 * Returns the credentials of a request in the form of `authorization`; null for none. Clients add placeholders for keys
 * by themselves, so a value in the form of our key goes before a token, and a token before one in another form. Of two different keys neither
 * counts: a guess would charge the wrong one.
 */
export function credentialsIn(headers: Headers): string | null {
  if (!headers.has('x-api-key') && !headers.has('api-key')) return headers.get('authorization');
  let found: string | null = null;
  let key: string | null = null;
  for (const name of KEY_HEADERS) {
    const text = headers.get(name);
    if (text === null) continue;
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

/** Says how to send a key. */
export const KEY_HELP = 'Send an API key in the header Authorization: Bearer sb_live_… or x-api-key: sb_live_….';

/** Says what is wrong with the form of credentials that hold no key. */
export function formAdvice(credentials: string | null): string {
  if (credentials === TWO_KEYS) return 'The request has two different API keys in its headers. Send one of them.';
  return credentials !== null && looksLikeKey(credentials)
    ? `Write Bearer in front of the key. ${KEY_HELP}`
    : `The value sent does not have the form of an API key of Signalbox. ${KEY_HELP}`;
}

/** The names of the headers with credentials, as a caller reads them: `Authorization and x-api-key`. */
export const keyHeadersOf = (headers: Headers): string =>
  KEY_HEADERS.filter((name) => headers.has(name))
    .map((name) => (name === 'authorization' ? 'Authorization' : name))
    .join(' and ');
