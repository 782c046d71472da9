import { hash } from 'node:crypto';
import { isObject } from '../core/object.ts';

/** Returns one text for equal JSON values, by sorting members. They nest no deeper than the edge admits. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isObject(inner) ? sorted(inner) : inner));
}

const sorted = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/**
 * The SHA-256, in hexadecimal, of a request's body and of its `Idempotency-Key`, if any. The order of members and the
 * case of `agent_wallet` do not count.
 */
export function requestHashOf(body: object, idempotencyKey: string | null = null): string {
  const wallet = 'agent_wallet' in body ? body.agent_wallet : undefined;
  const text = canonicalJson(typeof wallet === 'string' ? { ...body, agent_wallet: wallet.toLowerCase() } : body);
  // JSON as it is written here has no line breaks.
  return hash('sha256', idempotencyKey === null ? text : `${text}\n${idempotencyKey}`);
}
