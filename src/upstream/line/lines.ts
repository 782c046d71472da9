import { Line, type LineEnd, type LineHost, type LineRequest } from './line.ts';

/** Connections to one place that are kept idle, at most. */
const IDLE_MAX = 64;
/** Connections that were given up and go on trying, at most; a system tries for two minutes. */
const STRAYS_MAX = 64;

/** What is posted over a line. */
export type LinePost = Omit<LineRequest, 'bytes'> & { readonly headers: Headers; readonly body: string };

/** The way for one stream. */
export interface StreamLine {
  post(request: LinePost): Promise<Response>;
}

/** The lines to one place: those that are idle carry the next request. */
export class Lines {
  readonly #end: LineEnd;
  readonly #idle: Line[] = [];
  readonly #heads = new WeakMap<Headers, string>();
  #strays = 0;
  readonly #host: LineHost = {
    free: (line) => this.#free(line),
    gone: (line) => this.#gone(line),
    stray: (more) => {
      this.#strays += more;
    },
  };

  constructor(end: LineEnd) {
    this.#end = end;
  }

  /** True where so many connections were given up that each more would only cost a descriptor. */
  get isStuck(): boolean {
    return this.#strays >= STRAYS_MAX;
  }

  /** Idle connections. */
  get idle(): number {
    return this.#idle.length;
  }

  /**
   * The way to one target: path and query. What is posted goes as by fetch with `redirect: 'manual'`; it rejects with
   * an error that has a code, or with an AbortError. `host` is the `host` header where the request has none.
   */
  to(target: string, host: string): StreamLine {
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

  /** By a line that is idle, the one used last: it is the least likely to have been closed. */
  async #sendBy(first: Line, request: LineRequest): Promise<Response> {
    let line = first;
    // The other side may have closed it meanwhile: let the loop look at its sockets, which one turn alone may not.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    if (request.signal.aborted) {
      if (line.isOpen) this.#free(line);
      throw request.signal.reason;
    }
    while (!line.isOpen) line = this.#idle.pop() ?? this.#fresh();
    return line.send(request);
  }

  #fresh(): Line {
    return new Line(this.#end, this.#host);
  }

  #free(line: Line): void {
    this.#idle.push(line);
    if (this.#idle.length > IDLE_MAX) this.#idle[0]!.drop();
  }

  #gone(line: Line): void {
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** Made once for headers that stand for many requests. */
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
