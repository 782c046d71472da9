import type { WireAdapter } from '../contract/provider.ts';
import { UpstreamError } from './failures.ts';
import { keyNow, type TraceHeaders, type UpstreamTarget } from './upstream-call.ts';

/** Vendor-neutral headers that an adapter may set. */
const STANDARD = new Set([
  'accept-language',
  'content-language',
  'http-referer',
  'idempotency-key',
  'prefer',
  'traceparent',
  'tracestate',
]);
/** Vendor headers that an adapter may set. An adapter may also set the headers of its own dialect: `mistral-…` for `mistral`. */
const VENDOR = /^(?:x|openai|anthropic)-[a-z0-9_-]+$/;
/** Vendor headers that are not allowed, because they identify the client or its address, or rewrite the request. */
const FORWARDING =
  /^x-(?:forward|real-|client-ip|cluster-client|remote|true-client|original|originating|envoy|host|http-|method|rewrite|proxy|accel)/;
/** Headers with credentials. Only the option `auth` decides which header contains the key. */
const CREDENTIAL =
  /(?:^|[-_])(?:authorization|authenticate|cookie2?|password|api[-_]?key|auth[-_]?key|(?:auth|access)[-_]?token)$/;
/** Headers of the connection. Not even the key of a provider may be sent in such a header. */
const FRAMING =
  /^(?:host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|proxy-.*|sec-.*|via|forwarded)$/;

/** Returns whether an adapter may set a header; other headers are omitted. @param name in any letter case */
function mayBeSet(name: string, dialect: string): boolean {
  const lower = name.toLowerCase();
  if (STANDARD.has(lower)) return true;
  const isVendors = VENDOR.test(lower) || lower.startsWith(`${dialect.toLowerCase()}-`);
  return isVendors && !FRAMING.test(lower) && !FORWARDING.test(lower) && !CREDENTIAL.test(lower);
}

/** The headers that the calls of a target with one key share. */
interface SharedHeaders {
  readonly key: string | null;
  json: Headers | null;
  stream: Headers | null;
}
const sharedHeaders = new WeakMap<UpstreamTarget, SharedHeaders>();

/** Returns the shared headers of a target, without those of an earlier token. */
function sharedBy(target: UpstreamTarget): SharedHeaders {
  const key = keyNow(target);
  const known = sharedHeaders.get(target);
  if (known?.key === key) return known;
  const made = { key, json: null, stream: null };
  sharedHeaders.set(target, made);
  return made;
}

/**
 * Builds the headers of a call. None of the caller's headers are sent upstream. Calls whose adapter adds no headers share one object per
 * target.
 *
 * @param own the adapter's headers
 * @throws UpstreamError if the key cannot be sent in a header, or if its token source has no token
 */
export function callHeaders(
  adapter: WireAdapter,
  own: Readonly<Record<string, string>>,
  target: UpstreamTarget,
  stream: boolean,
): Headers {
  for (const _ in own) return buildHeaders(adapter, own, target, stream);
  const shared = sharedBy(target);
  const form = stream ? 'stream' : 'json';
  shared[form] ??= buildHeaders(adapter, own, target, stream);
  return shared[form];
}

/** Copies the headers and adds a trace's context. `withTrace` copies the headers because a call may share its headers with other calls. */
export function withTrace(headers: Headers, trace: TraceHeaders | null | undefined): Headers {
  if (!trace) return headers;
  const own = new Headers(headers);
  for (const [name, value] of Object.entries(trace)) own.set(name, value);
  return own;
}

const ACCEPT = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const;

function buildHeaders(
  adapter: WireAdapter,
  own: Readonly<Record<string, string>>,
  target: UpstreamTarget,
  stream: boolean,
): Headers {
  const { dial, sourced } = target;
  const apiKey = keyNow(target);
  if (sourced && apiKey === null)
    throw new UpstreamError('auth', `there is no token of ${sourced.variable}: ${sourced.problem()}`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(own)) {
    if (mayBeSet(name, adapter.dialect)) headers.set(name, value);
  }
  headers.set('content-type', 'application/json');
  headers.set('accept', stream ? ACCEPT[adapter.frames] : 'application/json');
  headers.set('accept-encoding', 'identity');
  headers.set('user-agent', 'signalbox');
  if (dial?.hostHeader) headers.set('host', dial.hostHeader);
  if (apiKey !== null && adapter.auth) {
    const { header, prefix } = (sourced && adapter.auth.token) ?? adapter.auth;
    if (FRAMING.test(header.toLowerCase()))
      throw new UpstreamError('auth', `an API key cannot be sent in the header ${header}`);
    try {
      headers.set(header, prefix + apiKey);
    } catch {
      throw new UpstreamError('auth', 'the API key has characters that a header cannot contain');
    }
  }
  return headers;
}
