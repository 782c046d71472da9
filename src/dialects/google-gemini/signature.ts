import { isObject, textOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { isWrappedState, type ReasoningState, wrapState } from '../../core/request/wrapped-state.ts';

/**
 * State of reasoning in `thoughtSignature`. Google's own signatures stay as they are. The state of other models is wrapped. Client libraries
 * read the field as bytes, so a wrapped state is base64, too, and may come back in the other alphabet of base64.
 */

/** Google's documented signatures for calls of other models, which are no base64. */
const WORDS: ReadonlySet<string> = new Set([
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]);

/** Writes base64 in its standard alphabet, in which Google writes signatures. */
const standardBase64 = (signature: string): string =>
  WORDS.has(signature) ? signature : signature.replaceAll('-', '+').replaceAll('_', '/');

/** Returns the member that contains Google's signature in the other dialects, on a message or a call. */
export const googleState = (signature: string) => ({
  extra_content: { google: { thought_signature: standardBase64(signature) } },
});

/** Returns Google's signature if the state contains nothing else; null otherwise. */
export function googleSignature(extra: Members): string | null {
  const { google, ...others } = extra;
  if (!isObject(google) || Object.keys(others).length > 0 || Object.keys(google).length !== 1) return null;
  return textOf(google.thought_signature) || null;
}

/** Returns a wrapped state as base64. */
export const wrappedSignature = (state: ReasoningState): string =>
  new TextEncoder().encode(wrapState(state)).toBase64();

/** The base64 of the beginning of each wrapped state. */
const BEGINNING = wrappedSignature({}).slice(0, 16);

/** Returns the wrapped state in a signature; null if the signature is a service's own. */
export function wrappedText(signature: string): string | null {
  if (!signature.startsWith(BEGINNING)) return null;
  try {
    const text = new TextDecoder().decode(Uint8Array.fromBase64(standardBase64(signature)));
    return isWrappedState(text) ? text : null;
  } catch {
    return null;
  }
}
