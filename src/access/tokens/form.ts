import { bearerOf } from '../key.ts';

/** Three parts in base64url. The last is empty where nobody has signed, and is refused with a reason then. */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Whether a text has the form of a JSON Web Token. */
export const looksLikeToken = (text: string): boolean => FORM.test(text);

/** The token in an `Authorization` header; null for anything else. */
export function tokenIn(header: string | null): string | null {
  const text = header === null ? null : bearerOf(header);
  return text !== null && looksLikeToken(text) ? text : null;
}

/**
 * Whether the signature is written in the one way that base64url has for its bytes. Decoders ignore bits at the end, so that
 * another text would be the same signature, and one token would be many.
 */
export function hasPlainSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
