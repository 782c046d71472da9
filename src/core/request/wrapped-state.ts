import { beyondLimits } from '../json/limits.ts';
import { isObject } from '../json/object.ts';
import type { Members } from '../json/original.ts';
import { orElse } from '../thrown.ts';

/**
 * The state of a message's earlier reasoning, as `StreamPart`s carry it. Dialects that have one opaque text for this state use a wrapped
 * form: the code that writes an answer wraps the state, and the code that reads the next request unwraps it.
 */
export interface ReasoningState {
  /** Entries of `reasoning_details`. */
  readonly details?: readonly Members[] | undefined;
  /** `extra_content` of the message. */
  readonly extra?: Members | undefined;
  /** `extra_content` of its tool calls, by the ID of the call. */
  readonly calls?: Readonly<Record<string, Members>>;
}

/** No service's own state begins with this prefix. */
const PREFIX = 'signalbox-state-1.';
/** The most values in a wrapped state. A real message has few values in its state. */
const VALUES_MAX = 20_000;

/** Whether a text is state that Signalbox wrapped. No service can read state that Signalbox wrapped. */
export const isWrappedState = (text: string): boolean => text.startsWith(PREFIX);

/** Returns the state as one text of letters, digits, `-`, `_` and `.`. */
export const wrapState = (state: ReasoningState): string =>
  PREFIX + new TextEncoder().encode(JSON.stringify(state)).toBase64({ alphabet: 'base64url', omitPadding: true });

/** The base64 of the beginning of each wrapped state. */
const ENCODED = btoa(PREFIX).slice(0, 16);

/** Reads state that Signalbox wrapped for a caller of any dialect: a text that `wrapState` wrote, or its base64; null for any other text. */
export function stateIn(text: string): ReasoningState | null {
  if (!text.startsWith(ENCODED)) return unwrapState(text);
  const bytes = orElse(() => Uint8Array.fromBase64(text.replaceAll('-', '+').replaceAll('_', '/')), null);
  return bytes && unwrapState(new TextDecoder().decode(bytes));
}

/** Reads a text that `wrapState` wrote; null for any other text, or if the text was damaged. */
export function unwrapState(text: string): ReasoningState | null {
  if (!isWrappedState(text)) return null;
  const parsed = orElse<unknown, null>(() => {
    const bytes = Uint8Array.fromBase64(text.slice(PREFIX.length), { alphabet: 'base64url' });
    const json = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return beyondLimits(json, VALUES_MAX) === null ? JSON.parse(json) : null;
  }, null);
  if (!isObject(parsed)) return null;
  const { details, extra, calls } = parsed;
  const ofCalls = isObject(calls)
    ? Object.entries(calls).filter((entry): entry is [string, Members] => isObject(entry[1]))
    : [];
  return {
    ...(Array.isArray(details) && { details: details.filter(isObject) }),
    ...(isObject(extra) && { extra }),
    ...(ofCalls.length > 0 && { calls: Object.fromEntries(ofCalls) }),
  };
}
