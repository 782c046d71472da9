import { hash } from 'node:crypto';
import { isObject } from '../core/object.ts';

/**
 * One text for one value, however its objects were written: their members stand in one order. For values of JSON, which
 * must not nest deeper than the edge admits.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isObject(inner) ? sorted(inner) : inner));
}

const sorted = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/**
 * SHA-256, in hexadecimal, of what a request says: its body, and the `Idempotency-Key` that names it, if it has one.
 * Names and values count, and neither their order nor in which case `agent_wallet` is written.
 */
export function requestHashOf(body: object, named: string | null = null): string {
  const wallet = 'agent_wallet' in body ? body.agent_wallet : undefined;
  const said = canonicalJson(typeof wallet === 'string' ? { ...body, agent_wallet: wallet.toLowerCase() } : body);
  // JSON as it is written here has no line breaks.
  return hash('sha256', named === null ? said : `${said}\n${named}`);
}
