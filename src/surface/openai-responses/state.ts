import { isObject } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';

/**
 * Data that only the model which answered can read, such as signed thoughts. The dialect has one place that clients send
 * back unread: `encrypted_content` of a reasoning item.
 */
export interface OpaqueState {
  /** Entries of `reasoning_details`. */
  readonly details: readonly Members[];
  /** `extra_content` of the message. */
  readonly extra: Members | null;
  /** `extra_content` of calls, by the call's ID. */
  readonly calls: Readonly<Record<string, Members>>;
}

/** Marks content that was wrapped here. No provider's own content begins like it. */
const MARK = 'sb1.';

/** Writes state as `encrypted_content`. */
export function wrapped({ details, extra, calls }: OpaqueState): string {
  const members = {
    ...(details.length > 0 && { details }),
    ...(extra && { extra }),
    ...(Object.keys(calls).length > 0 && { calls }),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(members));
  return MARK + bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Reads what `wrapped` wrote; null for anything else, such as the content of a provider. */
export function unwrapped(content: string): OpaqueState | null {
  if (!content.startsWith(MARK)) return null;
  const members = parsed(content.slice(MARK.length));
  if (!isObject(members)) return null;
  const { details, extra, calls } = members;
  return {
    details: Array.isArray(details) ? details.filter(isObject) : [],
    extra: isObject(extra) ? extra : null,
    calls: isObject(calls)
      ? Object.fromEntries(Object.entries(calls).flatMap(([id, one]) => (isObject(one) ? [[id, one]] : [])))
      : {},
  };
}

function parsed(text: string): unknown {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: 'base64url' });
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
