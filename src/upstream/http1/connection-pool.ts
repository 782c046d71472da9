import { type ConnectionOwner, type ConnectionTarget, HttpConnection, type RawRequest } from './http-connection.ts';

/** The most idle connections to one destination. */
const IDLE_MAX = 64;
/** The most abandoned connections that still try to connect, which a system does for two minutes. */
const STRAYS_MAX = 64;

/** A POST request over a pooled connection. */
export type StreamPost = Omit<RawRequest, 'bytes'> & { readonly headers: Headers; readonly body: string };

/** Sends streamed requests to one path. */
export interface StreamSender {
  post(request: StreamPost): Promise<Response>;
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
   * Returns a sender for one path. `post` works as fetch does with `redirect: 'manual'`; it rejects with an error that
   * has a code, or with an AbortError.
   *
   * @param target path and query
   * @param host the `host` header of requests that have none
   */
  sender(target: string, host: string): StreamSender {
    return {
      post: ({ headers, body, signal, onConnected }) => {
        const text = Buffer.from(body);
        const head = `POST ${target} HTTP/1.1\r\n${this.#headOf(headers, host)}content-length: ${text.length}\r\n\r\n`;
        const request = { bytes: Buffer.concat([Buffer.from(head, 'latin1'), text]), signal, onConnected };
        const idle = this.#idle.pop();
        return idle ? this.#sendBy(idle, request) : this.#fresh().send(request);
      },
    };
  }

  /** Sends over the idle connection used last: the least likely to have been closed. */
  async #sendBy(first: HttpConnection, request: RawRequest): Promise<Response> {
    let connection = first;
    // The server may have closed it: let the event loop poll its sockets, for which one turn may not be enough.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (request.signal.aborted) {
      if (connection.isOpen) this.#free(connection);
      throw request.signal.reason;
    }
    while (!connection.isOpen) connection = this.#idle.pop() ?? this.#fresh();
    return connection.send(request);
  }

  #fresh(): HttpConnection {
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
