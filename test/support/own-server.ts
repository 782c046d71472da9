import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * A server that stands for a provider, an issuer or another peer of one test. The system may give its port to it just after another
 * test's server has ended there, whose callers may still try again. So each server has an address of its own below
 * a secret path, and refuses every other call, unseen by the test.
 */
export interface OwnServer {
  /** `http://127.0.0.1:PORT/for-SECRET`, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** The path that all calls of the test begin with: `/for-SECRET`. */
  readonly prefix: string;
  /** Ends it with its connections. */
  stop(): Promise<void>;
}

export interface OwnServerOptions {
  /** Where it listens; 127.0.0.1 and a free port if left out. */
  readonly hostname?: string;
  readonly port?: number;
  /** That of another server of the same test, to be found at the same address; else a new one. */
  readonly prefix?: string;
  /** Seconds; none if left out. */
  readonly idleTimeout?: number;
}

/** No fake answers with it otherwise: the call was meant for another server. */
const FOREIGN_STATUS = 421;
const FOREIGN_TEXT = 'This server belongs to another test.';
const MAX_BODY_BYTES = 1 << 30;

export const foreignCall = (): Response => new Response(FOREIGN_TEXT, { status: FOREIGN_STATUS });

/** The same, as bytes, of a server that writes them itself. */
export const FOREIGN_HEAD = `HTTP/1.1 ${FOREIGN_STATUS} Misdirected Request\r\ncontent-length: ${FOREIGN_TEXT.length}\r\nconnection: close\r\n\r\n${FOREIGN_TEXT}`;

/** In letters alone: an importer of configurations takes other paths for secrets. */
export function makePrefix(): string {
  const letters = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) =>
    String.fromCharCode(97 + (byte % 26)),
  );
  return `/for-${letters.join('')}`;
}

/** The path and query of a call of the test, without the prefix, beginning with `/`; null for a foreign call. */
export function ownPath(prefix: string, path: string): string | null {
  if (!path.startsWith(prefix)) return null;
  const rest = path.slice(prefix.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : null;
}

/** The listener of a server of node:http that does the same: `answer` gets requests whose `url` is without the prefix. */
export const ownCalls =
  (prefix: string, answer: (request: IncomingMessage, response: ServerResponse) => unknown) =>
  (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse): void => {
    const path = ownPath(prefix, request.url ?? '');
    if (path === null) return void response.writeHead(FOREIGN_STATUS).end(FOREIGN_TEXT);
    // Where a server is mounted below a path, as frameworks state it.
    request.originalUrl = request.url;
    request.url = path;
    void answer(request, response);
  };

/** Starts one. `answer` gets the calls of its test alone, whose `url` is without the prefix. */
export function startOwnServer(
  answer: (request: Request) => Response | Promise<Response>,
  { hostname = '127.0.0.1', port = 0, prefix = makePrefix(), idleTimeout = 0 }: OwnServerOptions = {},
): OwnServer {
  const server = Bun.serve({
    ...{ hostname, port, idleTimeout, maxRequestBodySize: MAX_BODY_BYTES },
    // A cut is made by a stream that throws: outside development Bun does not print that.
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
