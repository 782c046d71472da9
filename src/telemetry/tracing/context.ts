/** W3C Trace Context, level 1 for `traceparent` and the wider grammar of level 2 for `tracestate`. */

/** Where a request comes from, as its caller says. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** Of the caller's own span: 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** As it came; null for none, or one that is not valid. */
  readonly state: string | null;
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
/** What follows the flags is for versions to come to say; nobody needs more of it than this. */
const PARENT_CHARS_MAX = 256;

/** Vendors must be able to rely on 512 characters, and on no more. */
const STATE_CHARS_MAX = 512;
const STATE_MEMBERS_MAX = 32;
const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const BLANK = /^[ \t]+|[ \t]+$/g;

/** Null for what is not valid: it is ignored, and a trace of its own begins. */
export function parseContext(headers: Headers): TraceContext | null {
  const text = headers.get('traceparent');
  if (text === null || text.length > PARENT_CHARS_MAX) return null;
  const found = PARENT.exec(text);
  if (!found) return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] = found;
  // The first version has nothing behind its flags; what later ones add is skipped.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, state: parseState(headers.get('tracestate')) };
}

/** The text itself, if every member of it is valid; else none of it goes on. */
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

/** The headers that say to whoever is called where the call comes from. */
export function contextHeaders({ traceId, spanId, isSampled, state }: TraceContext): Readonly<Record<string, string>> {
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
  return state === null ? { traceparent } : { traceparent, tracestate: state };
}
