import type { PendingReply, Post } from '../reply.ts';
import { type ConnectionOwner, type ConnectionTarget, HttpConnection } from './http-connection.ts';

/** The most idle connections to one destination. */
const IDLE_MAX = 64;
/** The most abandoned connections that still try to connect, which a system does for two minutes. */
const STRAYS_MAX = 64;

/** The connections to one destination. Sends requests on them, and reuses idle ones. Follows no redirects. */
export class ConnectionPool implements ConnectionOwner {
  readonly #base: string;
  readonly #target: ConnectionTarget;
  readonly #idle: HttpConnection[] = [];
  #strays = 0;
  readonly #host: string;
  /** The path and the headers sent last, and their lines: most requests share both. */
  #path: string | null = null;
  #requestLine = '';
  #headers: Headers | null = null;
  #headerLines = '';

  /**
   * @param base the URL of the destination, by its address, without a trailing slash
   * @param options.servername the name that the certificate must be for; null for plain HTTP
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

  /** True with so many abandoned connections that another would only cost a file descriptor. */
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

  /** The idle connection used last, the least likely to have been closed; else a new one. */
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
