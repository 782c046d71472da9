import type { PendingReply, Post } from '../reply.ts';
import { type ConnectionOwner, type ConnectionTarget, HttpConnection } from './http-connection.ts';

/** The most idle connections to one destination. */
const IDLE_MAX = 64;
/** The most abandoned connections that still try to connect, which a system does for two minutes. */
const STRAYS_MAX = 64;

/** Sends requests to one path. */
export interface PostSender {
  post(request: Post): PendingReply;
}

/** The connections to one destination. Reuses idle ones. */
export class ConnectionPool {
  readonly #target: ConnectionTarget;
  readonly #idle: HttpConnection[] = [];
  readonly #heads = new WeakMap<Headers, string>();
  #strays = 0;
  readonly #owner: ConnectionOwner = {
    free: (connection) => this.#free(connection),
    gone: (connection) => this.#gone(connection),
    stray: (change) => {
      this.#strays += change;
    },
  };

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

  /**
   * Returns a sender for one path. It follows no redirects.
   *
   * @param target path and query
   * @param host the `host` header of requests that have none
   */
  sender(target: string, host: string): PostSender {
    return {
      post: ({ headers, body, onConnected }) => {
        const length = Buffer.byteLength(body);
        const head = `POST ${target} HTTP/1.1\r\n${this.#headOf(headers, host)}content-length: ${length}\r\n\r\n`;
        return this.#connection().send({ head, body, bytes: head.length + length, onConnected });
      },
    };
  }

  /** The idle connection used last, the least likely to have been closed; else a new one. */
  #connection(): HttpConnection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle;
      idle.drop();
    }
    return new HttpConnection(this.#target, this.#owner);
  }

  #free(connection: HttpConnection): void {
    this.#idle.push(connection);
    if (this.#idle.length > IDLE_MAX) this.#idle[0]!.drop();
  }

  #gone(connection: HttpConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** Serializes headers once: many requests share one object. */
  #headOf(headers: Headers, host: string): string {
    let text = this.#heads.get(headers);
    if (text === undefined) {
      const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`);
      if (!headers.has('host')) lines.unshift(`host: ${host}\r\n`);
      text = lines.join('');
      this.#heads.set(headers, text);
    }
    return text;
  }
}
