import type { Turn } from 'signalbox/plugin';
import { callsIn } from '../calls.ts';
import { isObject, type Json, listOf, objectOf, textOf } from '../json.ts';

/** Google's documented signature for calls of other models. Gemini 3 and later require a signature on the first call of a step. */
export const UNSIGNED = 'skip_thought_signature_validator';

const FORMAT = 'google-gemini-v1';

/** Returns a signature as in Google's OpenAI endpoint: as `extra_content` of a message or call. */
export const signatureMembers = (signature: string): Json => ({ google: { thought_signature: signature } });

/** Returns the signature in the extra members of a turn or call, in Google's or LiteLLM's form; '' for none. */
export function signatureIn(owner: Json): string {
  const { extra_content: extra, provider_specific_fields: fields } = owner;
  const google = objectOf(objectOf(extra).google);
  return textOf(google.thought_signature) || textOf(objectOf(fields).thought_signature);
}

/** Returns the signatures in OpenRouter's `reasoning_details` by call ID; the message's signature has the ID ''. */
export function signaturesOfDetails(turn: Turn): ReadonlyMap<string, string> {
  const calls = new Set(callsIn(turn).map(({ id }) => id));
  const signatures = new Map<string, string>();
  for (const entry of listOf(turn.extras.reasoning_details)) {
    const signature = isObject(entry) && entry.format === FORMAT ? textOf(entry.data) || textOf(entry.signature) : '';
    if (!isObject(entry) || signature === '') continue;
    const id = textOf(entry.id);
    signatures.set(calls.has(id) ? id : '', signature);
  }
  return signatures;
}
