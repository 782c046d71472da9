import { bearerOf } from '../key.ts';

/** Three parts in base64url. The last part is empty in an unsigned token, which is refused later with a reason. */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Whether a text has the form of a JSON Web Token. */
export const looksLikeToken = (text: string): boolean => FORM.test(text);

/** Returns the token in an `Authorization` header; null for anything else. */
export function tokenIn(header: string | null): string | null {
  const text = header === null ? null : bearerOf(header);
  return text !== null && looksLikeToken(text) ? text : null;
}

/**
 * Whether the signature is in the canonical base64url form of its bytes. Decoders ignore some bits at the end of a text. Without this
 * check, the same token could be written as several texts.
 */
export function hasPlainSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
