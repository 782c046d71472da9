import type { PendingReply, Post } from '../reply.ts';
import { type ConnectionOwner, type ConnectionTarget, HttpConnection } from './http-connection.ts';

/** The maximum number of idle connections to one destination. */
const IDLE_MAX = 64;
/** The maximum number of abandoned connections that still try to connect, which an operating system does for two minutes. */
const STRAYS_MAX = 64;

/**
 * The connections to one destination. The pool sends requests on its connections and reuses idle connections. The pool follows no
 * redirects.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #base: string;
  readonly #target: ConnectionTarget;
  readonly #idle: HttpConnection[] = [];
  #strays = 0;
  readonly #host: string;
  /**
   * The path and headers of the last request, and the lines made from them. Most requests have the same path and headers as the request
   * before.
   */
  #path: string | null = null;
  #requestLine = '';
  #headers: Headers | null = null;
  #headerLines = '';

  /**
   * @param base the URL of the destination with its IP address, without a trailing slash
   * @param options.servername the name that the certificate must be valid for; null for plain HTTP
   * @param options.stream whether answers are streams
   */
  constructor(base: string, options: Pick<ConnectionTarget, 'servername' | 'stream'>) {
    const { hostname, port, host } = new URL(base);
    this.#base = base;
    this.#host = host;
    this.#target = {
      ...options,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (options.servername === null ? 80 : 443),
    };
  }

  /** True if there are so many abandoned connections that another connection would only cost a file descriptor. */
  get isStuck(): boolean {
    return this.#strays >= STRAYS_MAX;
  }

  /** The number of idle connections. */
  get idle(): number {
    return this.#idle.length;
  }

  /** Sends a request to a path below the base. */
  post(path: string, request: Post): PendingReply {
    if (path !== this.#path) this.#setPath(path);
    if (request.headers !== this.#headers) this.#setHeaders(request.headers);
    return this.#connection().send(request, this.#requestLine + this.#headerLines);
  }

  #setPath(path: string): void {
    const { pathname, search } = new URL(urlBelow(this.#base, path));
    this.#requestLine = `POST ${pathname}${search} HTTP/1.1\r\n`;
    this.#path = path;
  }

  #setHeaders(headers: Headers): void {
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`);
    if (!headers.has('host')) lines.unshift(`host: ${this.#host}\r\n`);
    this.#headerLines = lines.join('');
    this.#headers = headers;
  }

  /** Returns the idle connection that was used last, because it is the least likely to have been closed; otherwise a new connection. */
  #connection(): HttpConnection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle;
      idle.drop();
    }
    return new HttpConnection(this.#target, this);
  }

  free(connection: HttpConnection): void {
    this.#idle.push(connection);
    if (this.#idle.length > IDLE_MAX) this.#idle[0]!.drop();
  }

  gone(connection: HttpConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  stray(change: 1 | -1): void {
    this.#strays += change;
  }
}

/** The URL of a path below a base. */
export const urlBelow = (base: string, path: string): string => `${base}/${path.replace(/^\/+/, '')}`;
