/** W3C Trace Context, level 1 for `traceparent` and the wider grammar of level 2 for `tracestate`. */

/** The context that a caller sends. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** Of the caller's span, 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** The original text; null if absent or invalid. */
  readonly state: string | null;
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
/** Future versions may append fields to the flags; this bounds them. */
const PARENT_CHARS_MAX = 256;

/** The length that vendors can rely on. */
const STATE_CHARS_MAX = 512;
const STATE_MEMBERS_MAX = 32;
const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const BLANK = /^[ \t]+|[ \t]+$/g;

/** Null if it is invalid, which starts a new trace. */
export function parseContext(headers: Headers): TraceContext | null {
  const text = headers.get('traceparent');
  if (text === null || text.length > PARENT_CHARS_MAX) return null;
  const found = PARENT.exec(text);
  if (!found) return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] = found;
  // Version 00 ends with its flags; fields of later versions are skipped.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, state: parseState(headers.get('tracestate')) };
}

/** The original text if all members are valid, else null. */
function parseState(text: string | null): string | null {
  if (text === null || text.length > STATE_CHARS_MAX) return null;
  const keys = new Set<string>();
  for (const member of text.split(',')) {
    const bare = member.replace(BLANK, '');
    if (bare === '') continue;
    const key = MEMBER.exec(bare)?.[1];
    if (key === undefined || keys.has(key)) return null;
    keys.add(key);
  }
  return keys.size === 0 || keys.size > STATE_MEMBERS_MAX ? null : text;
}

/** The headers that propagate a context. */
export function contextHeaders({ traceId, spanId, isSampled, state }: TraceContext): Readonly<Record<string, string>> {
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}
