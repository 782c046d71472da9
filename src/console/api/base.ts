/**
 * The path at which the gateway stands, without a slash at its end: '' at the root of its host, else that of a proxy such as `/gateway`.
 * Read once: the page states it relative to the address that it was loaded from.
 */
export const BASE = new URL(document.documentElement.dataset.base ?? '/', location.href).pathname.replace(/\/$/, '');

/** The path of the console itself. */
export const CONSOLE = `${BASE}/console`;

/** Host of the issuer at which people sign in; '' where they do so by keys alone. */
export const ISSUER = document.documentElement.dataset.issuer ?? '';

/** Whether a login came with the page. */
export const IS_SIGNED_IN = document.documentElement.dataset.signedIn !== 'false';

type QueryValue = string | number | boolean | null | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

/** A query in the order of its names; what is empty is left out. */
export function queryText(query: Query): string {
  const stated = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]): [string, string] => [name, String(value)]);
  return stated.length === 0 ? '' : `?${new URLSearchParams(stated)}`;
}
