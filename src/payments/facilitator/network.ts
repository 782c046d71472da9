import type { OpenNetwork } from './facilitator.ts';

/** What it takes is loaded only here: a server that takes no payments does without. */
export const openNetwork: OpenNetwork = async (policy, means) => (await import('./open.ts')).default(policy, means);
