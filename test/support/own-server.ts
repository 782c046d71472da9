import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * A server that plays a provider, an issuer or another peer for one test. The operating system may give the server the port of another
 * test's server that has just ended, and clients of that test may still retry. Each server therefore has a secret path in its address, and
 * refuses all other calls before the test sees them.
 */
export interface OwnServer {
  /** `http://127.0.0.1:PORT/for-SECRET`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** The path at the start of all calls of the test: `/for-SECRET`. */
  readonly prefix: string;
  /** Stops the server and closes its connections. */
  stop(): Promise<void>;
}

export interface OwnServerOptions {
  /** The host name to listen on; 127.0.0.1 and a free port by default. */
  readonly hostname?: string;
  readonly port?: number;
  /** The prefix of another server of the same test, so that both have the same address; a new one by default. */
  readonly prefix?: string;
  /** Seconds; no idle timeout by default. */
  readonly idleTimeout?: number;
}

/** The status for calls meant for another server; no fake uses it otherwise. */
const FOREIGN_STATUS = 421;
const FOREIGN_TEXT = 'This server belongs to another test.';
const MAX_BODY_BYTES = 1 << 30;

export const foreignCall = (): Response => new Response(FOREIGN_TEXT, { status: FOREIGN_STATUS });

/** Returns the same refusal as bytes, for a server that writes its answers itself. */
export const FOREIGN_HEAD = `HTTP/1.1 ${FOREIGN_STATUS} Misdirected Request\r\ncontent-length: ${FOREIGN_TEXT.length}\r\nconnection: close\r\n\r\n${FOREIGN_TEXT}`;

/** Makes a prefix of letters only, because an importer of configurations takes other paths for secrets. */
export function makePrefix(): string {
  const letters = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) =>
    String.fromCharCode(97 + (byte % 26)),
  );
  return `/for-${letters.join('')}`;
}

/** Returns path and query of a call without the prefix, beginning with `/`; null for a foreign call. */
export function ownPath(prefix: string, path: string): string | null {
  if (!path.startsWith(prefix)) return null;
  const rest = path.slice(prefix.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : null;
}

/** Makes a listener for a `node:http` server that refuses foreign calls. `answer` receives requests whose `url` lacks the prefix. */
export const ownCalls =
  (prefix: string, answer: (request: IncomingMessage, response: ServerResponse) => unknown) =>
  (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse): void => {
    const path = ownPath(prefix, request.url ?? '');
    if (path === null) return void response.writeHead(FOREIGN_STATUS).end(FOREIGN_TEXT);
    // Frameworks store the complete URL here when they mount a server under a path.
    request.originalUrl = request.url;
    request.url = path;
    void answer(request, response);
  };

/** Starts a server. `answer` receives only the calls of its test, whose `url` lacks the prefix. */
export function startOwnServer(
  answer: (request: Request) => Response | Promise<Response>,
  { hostname = '127.0.0.1', port = 0, prefix = makePrefix(), idleTimeout = 0 }: OwnServerOptions = {},
): OwnServer {
  const server = Bun.serve({
    ...{ hostname, port, idleTimeout, maxRequestBodySize: MAX_BODY_BYTES },
    // A fake cuts a stream by throwing in it. Bun prints this error only in development.
    development: false,
    fetch(request) {
      const { origin, pathname, search } = new URL(request.url);
      const path = ownPath(prefix, pathname + search);
      if (path === null) return foreignCall();
      Object.defineProperty(request, 'url', { value: origin + path });
      return answer(request);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}${prefix}`,
    port: server.port ?? 0,
    prefix,
    stop: () => server.stop(true),
  };
}
