import { computed, signal } from '@preact/signals';
import { CONSOLE } from '../api/base.ts';

/** The address of the page. The address contains everything that a link should restore: the view, the detail, filters and the range. */
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

/**
 * Thrown if the console cannot read its address, for example after a link was cut off. The message says what is wrong and what would be
 * right.
 */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/**
 * The parts of the path after the view's path: `['0a1b2c']`.
 * @throws AddressError
 */
export const partsBelow = (viewPath: string): readonly string[] =>
  path.value.slice(viewPath.length).split('/').filter(Boolean).map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new AddressError(
      `The address has the part \`${part}\`, which is incomplete: after a \`%\` it needs the code of a character, such as \`%20\`.`,
    );
  }
}

/**
 * Reads a parameter of the query; '' if it is missing. A component that reads the parameter is rendered again when the parameter changes.
 */
export const param = (name: string): string => address.value.searchParams.get(name) ?? '';

export type Params = Readonly<Record<string, string | null>>;

/** Parameters that stay when the viewer changes the view. */
const GLOBAL = ['range', 'from', 'to'];

/**
 * Makes an address in the console, with the current time range.
 * @param params null or '' leaves a parameter out
 */
export function hrefOf(to: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const name of GLOBAL) {
    const value = address.value.searchParams.get(name);
    if (value !== null) query.set(name, value);
  }
  return CONSOLE + (to === '/' ? '' : to) + textOf(query, params);
}

/** The address of the same page with other parameters. */
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

/**
 * Navigates to an address of the console.
 * @param isReplacing adds no step to the browser's history, for filters that are typed
 */
export function go(href: string, isReplacing = false): void {
  const next = new URL(href, location.href);
  if (next.href === address.value.href) return;
  history[isReplacing ? 'replaceState' : 'pushState'](null, '', next);
  address.value = next;
}

/** Changes parameters of the current address. */
export const setParams = (params: Params, isReplacing = true): void => go(hrefWith(params), isReplacing);

/** Follows links of the console without loading a page. With a modifier key, the browser handles the click. */
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
