import type { HttpCall, WireAdapter } from '../contract/provider.ts';
import type { UpstreamTarget } from './call.ts';
import { Broken } from './failures.ts';

/** Headers that belong to the connection or to the host, whatever an adapter wishes. */
const RESERVED = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'cookie',
  'accept-encoding',
]);

/** The address of a call. Throws `Broken` for a provider without a usable one: fetch knows more schemes than we want. */
export function callUrl(baseUrl: string | null, path: string): string {
  if (baseUrl === null || !/^https?:\/\//i.test(baseUrl))
    throw new Broken('connect', 'the provider has no http address');
  if (!baseUrl.endsWith('/') && path.startsWith('/') && !path.startsWith('//')) return baseUrl + path;
  return `${baseUrl.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
}

/** Headers that a target gets with every call of a kind, by whether it is streamed: [JSON, stream]. */
const standing = new WeakMap<UpstreamTarget, [Headers | null, Headers | null]>();

/**
 * Headers of a call, built from nothing: none of the caller's goes upstream. Made once for calls whose
 * adapter adds none. Throws for a key no header can hold.
 */
export function callHeaders(adapter: WireAdapter, http: HttpCall, target: UpstreamTarget, stream: boolean): Headers {
  for (const _ in http.headers) return buildHeaders(adapter, http, target.apiKey, stream);
  let made = standing.get(target);
  if (!made) {
    made = [null, null];
    standing.set(target, made);
  }
  const at = stream ? 1 : 0;
  made[at] ??= buildHeaders(adapter, http, target.apiKey, stream);
  return made[at];
}

function buildHeaders(adapter: WireAdapter, http: HttpCall, apiKey: string | null, stream: boolean): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(http.headers)) {
    if (!RESERVED.has(name.toLowerCase())) headers.set(name, value);
  }
  headers.set('content-type', 'application/json');
  headers.set('accept', stream ? acceptOf(adapter) : 'application/json');
  headers.set('user-agent', 'signalbox');
  if (apiKey !== null) {
    try {
      headers.set(adapter.auth.header, adapter.auth.prefix + apiKey);
    } catch {
      throw new Broken('auth', 'the API key holds characters that no header can carry');
    }
  }
  return headers;
}

function acceptOf(adapter: WireAdapter): string {
  return adapter.frames === 'sse' ? 'text/event-stream' : 'application/x-ndjson';
}
