import type { HttpCall, WireAdapter } from '../contract/provider.ts';
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
  return `${baseUrl.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
}

/** Headers of a call, built from nothing: none of the caller's goes upstream. Throws for a key no header can hold. */
export function callHeaders(adapter: WireAdapter, http: HttpCall, apiKey: string | null, stream: boolean): Headers {
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
