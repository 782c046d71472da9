/**
 * The path at which the gateway stands, with a slash at its end: `/`, or that of a proxy, such as `/gateway/`. It is read once: the page states it
 * relative to the address that it was loaded from.
 */
export const BASE = new URL(document.documentElement.dataset.base ?? '/', location.href).pathname;
