import type { WireAdapter } from '../contract/provider.ts';
import { Broken } from './failures.ts';
import type { TraceHeaders, UpstreamTarget } from './upstream-call.ts';

/** Headers of no vendor that an adapter may set. */
const STANDARD = new Set([
  'accept-language',
  'content-language',
  'http-referer',
  'idempotency-key',
  'prefer',
  'traceparent',
  'tracestate',
]);
/** Vendors' own headers. Those of an adapter's dialect come on top: `mistral-…` for `mistral`. */
const VENDOR = /^(?:x|openai|anthropic)-[a-z0-9_-]+$/;
/** Of those, what says who asks, from where or for whom, and what makes a request another one. */
const FORWARDING =
  /^x-(?:forward|real-|client-ip|cluster-client|remote|true-client|original|originating|envoy|host|http-|method|rewrite|proxy|accel)/;
/** A key goes where `auth` says, and nowhere else. */
const CREDENTIAL =
  /(?:^|[-_])(?:authorization|authenticate|cookie2?|password|api[-_]?key|auth[-_]?key|(?:auth|access)[-_]?token)$/;
/** Headers of the connection. Not even a key goes there. */
const FRAMING =
  /^(?:host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|proxy-.*|sec-.*|via|forwarded)$/;

/** Whether an adapter may set a header; what it may not is left out. `name` in any case. */
function mayBeSet(name: string, dialect: string): boolean {
  const lower = name.toLowerCase();
  if (STANDARD.has(lower)) return true;
  const isVendors = VENDOR.test(lower) || lower.startsWith(`${dialect.toLowerCase()}-`);
  return isVendors && !FRAMING.test(lower) && !FORWARDING.test(lower) && !CREDENTIAL.test(lower);
}

/** Headers that a target gets with every call of a kind, by whether it is streamed: [JSON, stream]. */
const standing = new WeakMap<UpstreamTarget, [Headers | null, Headers | null]>();

/**
 * Headers of a call, built from nothing: none of the caller's goes upstream. `own` are those that the adapter wants.
 * Made once for calls whose adapter adds none. Throws for a key no header can hold.
 */
export function callHeaders(
  adapter: WireAdapter,
  own: Readonly<Record<string, string>>,
  target: UpstreamTarget,
  stream: boolean,
): Headers {
  for (const _ in own) return buildHeaders(adapter, own, target, stream);
  let made = standing.get(target);
  if (!made) {
    made = [null, null];
    standing.set(target, made);
  }
  const at = stream ? 1 : 0;
  made[at] ??= buildHeaders(adapter, own, target, stream);
  return made[at];
}

/** The same with a trace's context; the headers of a call may be those of others, too. */
export function traced(headers: Headers, trace: TraceHeaders | null): Headers {
  if (!trace) return headers;
  const own = new Headers(headers);
  for (const [name, value] of Object.entries(trace)) own.set(name, value);
  return own;
}

function buildHeaders(
  adapter: WireAdapter,
  own: Readonly<Record<string, string>>,
  { apiKey, dial }: UpstreamTarget,
  stream: boolean,
): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(own)) {
    if (mayBeSet(name, adapter.dialect)) headers.set(name, value);
  }
  headers.set('content-type', 'application/json');
  headers.set('accept', stream ? acceptOf(adapter) : 'application/json');
  headers.set('accept-encoding', 'identity');
  headers.set('user-agent', 'signalbox');
  if (dial?.hostHeader) headers.set('host', dial.hostHeader);
  if (apiKey !== null) {
    const { header, prefix } = adapter.auth;
    if (FRAMING.test(header.toLowerCase())) throw new Broken('auth', `no key goes into the header ${header}`);
    try {
      headers.set(header, prefix + apiKey);
    } catch {
      throw new Broken('auth', 'the API key holds characters that no header can carry');
    }
  }
  return headers;
}

function acceptOf(adapter: WireAdapter): string {
  return adapter.frames === 'sse' ? 'text/event-stream' : 'application/x-ndjson';
}
