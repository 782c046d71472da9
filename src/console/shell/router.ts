import { computed, signal } from '@preact/signals';
import { CONSOLE } from '../api/base.ts';

/** The address of the page. Everything that a link should bring back stands in it: the view, the detail, filters and the range. */
const address = signal(new URL(location.href));
addEventListener('popstate', () => {
  address.value = new URL(location.href);
});

/** The path below the console: `/` or `/requests/0a1b2c`. */
export const path = computed(() => {
  const { pathname } = address.value;
  const below = pathname.startsWith(CONSOLE) ? pathname.slice(CONSOLE.length) : pathname;
  return below.replace(/\/+$/, '') || '/';
});

/** An address that the console cannot read, as of a link that was cut off. The message says what is wrong and what would be right. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/** The parts of the path behind that of a view: `['0a1b2c']`. @throws AddressError */
export const partsBelow = (viewPath: string): readonly string[] =>
  path.value.slice(viewPath.length).split('/').filter(Boolean).map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new AddressError(
      `The address has the part \`${part}\`, which is incomplete: a \`%\` begins the code of a character, such as \`%20\`.`,
    );
  }
}

/** A parameter of the query; '' without. Read in a component, it draws it again when it changes. */
export const param = (name: string): string => address.value.searchParams.get(name) ?? '';

export type Params = Readonly<Record<string, string | null>>;

/** Parameters that stay from view to view. */
const GLOBAL = ['range', 'from', 'to'];

/** The address of a place in the console, with the time range in force. @param params null or '' leaves one out */
export function hrefOf(to: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const name of GLOBAL) {
    const value = address.value.searchParams.get(name);
    if (value !== null) query.set(name, value);
  }
  return CONSOLE + (to === '/' ? '' : to) + textOf(query, params);
}

/** The address of the same place with other parameters. */
export const hrefWith = (params: Params, to = path.value): string =>
  CONSOLE + (to === '/' ? '' : to) + textOf(new URLSearchParams(address.value.searchParams), params);

function textOf(query: URLSearchParams, params: Params): string {
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Goes to an address of the console. @param isReplacing leaves no step to go back to: for filters that are typed */
export function go(href: string, isReplacing = false): void {
  const next = new URL(href, location.href);
  if (next.href === address.value.href) return;
  history[isReplacing ? 'replaceState' : 'pushState'](null, '', next);
  address.value = next;
}

/** Changes parameters in place. */
export const setParams = (params: Params, isReplacing = true): void => go(hrefWith(params), isReplacing);

/** Follows links of the console without loading a page. A key held down does as the browser does. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname !== CONSOLE && !link.pathname.startsWith(`${CONSOLE}/`)) return;
  if (link.pathname.startsWith(`${CONSOLE}/sign-in`)) return;
  if (link.hash !== '' && link.pathname === location.pathname) return;
  event.preventDefault();
  const isElsewhere = link.pathname !== location.pathname;
  go(link.href);
  if (isElsewhere) scrollTo(0, 0);
}
