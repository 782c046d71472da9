import { connect, type Socket } from 'node:net';
import { waitFor } from './answers.ts';

/** How a body ends: `clean` with the last chunk of HTTP/1.1, `broken` if the connection closes without this chunk. */
type StreamEnd = 'clean' | 'broken';

/** A streamed answer as its bytes arrive over a TCP connection of its own. */
export class RawStream {
  readonly socket: Socket;
  /** The status line and headers; '' until they are complete. */
  head = '';
  /** The body so far, without the framing of HTTP. */
  body = '';
  /** Null before the end. */
  end: StreamEnd | null = null;
  /** Time from the last byte of the body to the end, ms. */
  lastMs = Number.NaN;
  readonly #decoder = new TextDecoder();
  #bytes = Buffer.alloc(0);
  #lastAt = Number.NaN;

  /**
   * Posts a JSON body.
   * @param headers lines in addition to those that every request has
   */
  constructor(url: string, body: object, headers: readonly string[]) {
    const { hostname, port, pathname } = new URL(url);
    const text = JSON.stringify(body);
    const own = ['host: localhost', 'content-type: application/json', `content-length: ${Buffer.byteLength(text)}`];
    this.socket = connect(Number(port), hostname, () => {
      this.socket.write(`POST ${pathname} HTTP/1.1\r\n${[...own, ...headers].join('\r\n')}\r\n\r\n${text}`);
    });
    this.socket.on('data', (data: Buffer) => this.#read(data));
    this.socket.on('error', () => this.#end('broken'));
    this.socket.on('close', () => this.#end('broken'));
  }

  /** Resolves with the way in which the body ended. */
  ended(): Promise<StreamEnd> {
    return waitFor(() => this.end);
  }

  #read(data: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    if (this.head === '') {
      const at = this.#bytes.indexOf('\r\n\r\n');
      if (at < 0) return;
      this.head = String(this.#take(at + 4));
    }
    const length = /^content-length: (\d+)/im.exec(this.head)?.[1];
    if (length === undefined) this.#readChunks();
    else this.#readWhole(Number(length));
  }

  #readChunks(): void {
    for (let at = this.#bytes.indexOf('\r\n'); at >= 0; at = this.#bytes.indexOf('\r\n')) {
      const size = Number.parseInt(String(this.#bytes.subarray(0, at)), 16);
      if (this.#bytes.length < at + 2 + size + 2) return;
      this.#take(at + 2);
      this.body += this.#decoder.decode(this.#take(size), { stream: true });
      this.#take(2);
      if (size === 0) this.#end('clean');
      this.#lastAt = performance.now();
    }
  }

  /** Reads the body of an answer in one piece, such as an error. */
  #readWhole(length: number): void {
    if (this.#bytes.length < length) return;
    this.body = String(this.#take(length));
    this.#end('clean');
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  #end(how: StreamEnd): void {
    if (this.end !== null) return;
    this.end = how;
    this.lastMs = performance.now() - this.#lastAt;
    this.socket.destroy();
  }
}

/** Returns the code of the error event that ends a chat stream; null if the last event is not an error. */
export function errorCodeIn({ body }: Pick<RawStream, 'body'>): string | null {
  const last = body.trimEnd().split('\n\n').at(-1) ?? '';
  return /^data: \{"error":.*"code":"(\w+)"/.exec(last)?.[1] ?? null;
}

/** Whether a chat stream ended like a complete answer. */
export const isWhole = ({ body }: Pick<RawStream, 'body'>): boolean => body.endsWith('data: [DONE]\n\n');
