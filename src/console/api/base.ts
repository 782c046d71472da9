/**
 * The path of the gateway without a slash at its end: '' at the root of its host, or a prefix such as `/gateway` behind a proxy. The page
 * contains the prefix relative to the address from which the page was loaded, so the path is computed only once.
 */
export const BASE = new URL(document.documentElement.dataset.base ?? '/', location.href).pathname.replace(/\/$/, '');

/** The path of the console itself. */
export const CONSOLE = `${BASE}/console`;

/** The address of a page of the documentation. @param file in `docs/` */
export const docsHref = (file: string): string => `${BASE}/docs/guide/${file}`;

/** Host of the OpenID issuer at which people sign in; '' if they can sign in only with keys. */
export const ISSUER = document.documentElement.dataset.issuer ?? '';

/** Whether the browser was signed in when the server sent the page. */
export const IS_SIGNED_IN = document.documentElement.dataset.signedIn !== 'false';

type QueryValue = string | number | boolean | null | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

/** Writes a query string in the order of the parameter names. Empty parameters are left out. */
export function queryText(query: Query): string {
  const stated = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]): [string, string] => [name, String(value)]);
  return stated.length === 0 ? '' : `?${new URLSearchParams(stated)}`;
}
