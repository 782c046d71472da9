import { hash } from 'node:crypto';
import { canonicalJson } from '../core/json/canonical.ts';

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
