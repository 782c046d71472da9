import { hash } from 'node:crypto';
import { isObject } from '../core/json/object.ts';

/** Returns the same text for equal JSON values, by sorting their members. The server limits how deep bodies are nested. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isObject(inner) ? sorted(inner) : inner));
}

const sorted = (object: object): object =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

/**
 * The SHA-256, in hexadecimal, of a request's body and of its `Idempotency-Key`, if it has one. The order of members and the letter case of
 * `agent_wallet` make no difference.
 */
export function requestHashOf(body: object, idempotencyKey: string | null = null): string {
  const wallet = 'agent_wallet' in body ? body.agent_wallet : undefined;
  const text = canonicalJson(typeof wallet === 'string' ? { ...body, agent_wallet: wallet.toLowerCase() } : body);
  // The JSON text contains no line breaks, so the separator is unambiguous.
  return hash('sha256', idempotencyKey === null ? text : `${text}\n${idempotencyKey}`);
}
