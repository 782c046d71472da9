import { isLoopbackHost } from '../net/loopback.ts';

/** A key of a provider that a token source fetches and renews. Its value changes while requests use it, so each call reads it. */
export interface SourcedKey {
  /** The variable that policies name, such as `BEDROCK_TOKEN`. */
  readonly variable: string;
  /** The hosts that may receive the token, as the credentials file states them. */
  readonly hosts: readonly string[];
  /** The path of the credentials file, for messages. */
  readonly file: string;
  /** Returns the token; null while there is no valid one. */
  token(): string | null;
  /** Why there is no token, without a secret. */
  problem(): string;
}

/**
 * The form of a host that may receive a token. A `*` at the beginning stands for a part of the first label: `*.example.com` matches
 * `a.example.com`, but neither `example.com` nor `a.b.example.com`. `http://` at the beginning also allows requests without TLS.
 */
export const HOST_PATTERN = {
  pattern: '^(?:http://)?(?:\\*[.-](?:[a-z0-9-]+\\.)+[a-z0-9-]+|[a-z0-9-]+(?:\\.[a-z0-9-]+)*|\\[[0-9a-f:.]+\\])$',
  expected: 'a host name in lower case without port or path, such as `api.example.com` or `*.example.com`',
} as const;

/** Whether a token may be sent to a URL. Other hosts than this machine need TLS, unless their entry begins with `http://`. */
export function mayReceive(hosts: readonly string[], url: string): boolean {
  const { hostname, protocol } = new URL(url);
  const isSafe = protocol === 'https:' || isLoopbackHost(hostname);
  return hosts.some((entry) => {
    const host = entry.replace(/^http:\/\//, '');
    return (isSafe || host !== entry) && isMatch(host, hostname);
  });
}

function isMatch(host: string, hostname: string): boolean {
  if (!host.startsWith('*')) return host === hostname;
  const first = hostname.slice(0, -(host.length - 1));
  return hostname.endsWith(host.slice(1)) && first !== '' && !first.includes('.');
}
