import type { PendingReply, Post } from '../reply.ts';
import { type ConnectionOwner, type ConnectionTarget, HttpConnection } from './http-connection.ts';

/** The most idle connections to one destination. */
const IDLE_MAX = 64;
/** The most abandoned connections that still try to connect, which a system does for two minutes. */
const STRAYS_MAX = 64;

/** The connections to one destination. Reuses idle ones. */
export class ConnectionPool implements ConnectionOwner {
  readonly #target: ConnectionTarget;
  readonly #idle: HttpConnection[] = [];
  #strays = 0;

  constructor(target: ConnectionTarget) {
    this.#target = target;
  }

  /** True with so many abandoned connections that another would only cost a file descriptor. */
  get isStuck(): boolean {
    return this.#strays >= STRAYS_MAX;
  }

  /** The number of idle connections. */
  get idle(): number {
    return this.#idle.length;
  }

  /** Returns the idle connection used last, the least likely to have been closed; else a new one. */
  connection(): HttpConnection {
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

/** Sends requests to one path. Follows no redirects. */
export class PostSender {
  readonly #pool: ConnectionPool;
  readonly #target: string;
  readonly #host: string;
  /** The headers sent last, and the start of a request with them: most requests share one object. */
  #headers: Headers | null = null;
  #start = '';

  /**
   * @param target path and query
   * @param host the `host` header of requests that have none
   */
  constructor(pool: ConnectionPool, target: string, host: string) {
    this.#pool = pool;
    this.#target = target;
    this.#host = host;
  }

  post(request: Post): PendingReply {
    if (request.headers !== this.#headers) this.#serialize(request.headers);
    return this.#pool.connection().send(request, this.#start);
  }

  #serialize(headers: Headers): void {
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`);
    if (!headers.has('host')) lines.unshift(`host: ${this.#host}\r\n`);
    this.#start = `POST ${this.#target} HTTP/1.1\r\n${lines.join('')}`;
    this.#headers = headers;
  }
}
