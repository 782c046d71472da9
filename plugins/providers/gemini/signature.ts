import type { ChatMessage } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';

/** What Google documents for calls that no Gemini has made: Gemini 3 and later refuse a step whose first call is unsigned. */
export const UNSIGNED = 'skip_thought_signature_validator';

const FORMAT = 'google-gemini-v1';

/** A signature in the form that Google's own OpenAI endpoint gives it: `extra_content` of a message or of a call. */
export const signatureMembers = (signature: string): Json => ({ google: { thought_signature: signature } });

/** The signature that a message, or a call of it, bears itself: as Google puts it there, or as LiteLLM does. Empty for none. */
export function signatureIn(owner: Json): string {
  const { extra_content: extra, provider_specific_fields: fields } = owner;
  const google = isObject(extra) && isObject(extra.google) ? extra.google : {};
  return textOf(google.thought_signature) || (isObject(fields) ? textOf(fields.thought_signature) : '');
}

/** Signatures among `reasoning_details`, as OpenRouter puts them, by the ID of the call that they belong to; '' for the message's. */
export function signaturesOfDetails(message: ChatMessage): ReadonlyMap<string, string> {
  const owner: Json = message;
  const calls = new Set((message.tool_calls ?? []).map(({ id }) => id));
  const signatures = new Map<string, string>();
  for (const entry of listOf(owner.reasoning_details)) {
    const signature = isObject(entry) && entry.format === FORMAT ? textOf(entry.data) || textOf(entry.signature) : '';
    if (!isObject(entry) || signature === '') continue;
    const id = textOf(entry.id);
    signatures.set(calls.has(id) ? id : '', signature);
  }
  return signatures;
}
