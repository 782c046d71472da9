import type { KeyHeader } from 'signalbox/plugin';

/** The header of a key that its service takes as a bearer token. */
export const BEARER: KeyHeader = { header: 'authorization', prefix: 'Bearer ' };
