import type { OpenNetwork } from './facilitator.ts';

/** Loads the libraries on first use, because a server without payments does not need them. */
export const openNetwork: OpenNetwork = async (policy, host) => (await import('./open.ts')).default(policy, host);
