/** Browsers accept a name with the prefix `__Host-` only with `Secure`, the path `/` and no domain, so no other host can set it. */
export const LOGIN_COOKIE = '__Host-signalbox';
/** The cookie of a sign-in in progress. */
export const SIGN_IN_COOKIE = '__Host-signalbox-sign-in';

/** The value of a cookie in a request; null if it is missing. */
export function cookieIn(headers: Headers, name: string): string | null {
  const text = headers.get('cookie');
  if (text === null) return null;
  const pairs = text.split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** @param value empty to remove the cookie */
export const cookieText = (name: string, value: string, ageMs: number): string =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${value === '' ? 0 : Math.floor(ageMs / 1_000)}`;
