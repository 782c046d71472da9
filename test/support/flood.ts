/** An upstream that sends as fast as the client reads, and counts how many bytes the client took. */
export interface Flood {
  /** The base URL for a provider, with its `/v1`. */
  readonly url: string;
  /** For each request, the bytes of its answer that the kernel accepted. */
  readonly sent: readonly number[];
  /** The number of connections closed so far. */
  readonly closed: number;
  stop(): void;
}

export interface FloodOptions {
  readonly contentType: string;
  /** The beginning of the answer. */
  readonly start?: string;
  /** The text that the upstream repeats. */
  readonly piece: string;
  /** The approximate size of an answer, bytes; it ends with the piece that reaches this size. */
  readonly bytes: number;
  /** The end of the answer. */
  readonly end?: string;
}

interface Answering {
  readonly at: number;
  begun: boolean;
  /** The bytes of the current block that are still to be written. */
  rest: Uint8Array;
  ended: boolean;
}

const BLOCK = 65_536;

/** Starts the upstream on 127.0.0.1. The upstream answers every request. */
export function startFlood({ contentType, start = '', piece, bytes, end = '' }: FloodOptions): Flood {
  const sent: number[] = [];
  let closed = 0;
  const chunk = (text: string) => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  const block = chunk(piece.repeat(Math.max(1, Math.floor(BLOCK / piece.length))));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`;
  const first = Buffer.concat([Buffer.from(head), ...(start === '' ? [] : [chunk(start)])]);
  const last = Buffer.concat([...(end === '' ? [] : [chunk(end)]), Buffer.from('0\r\n\r\n')]);

  function pump(socket: Bun.Socket<Answering>): void {
    const { data } = socket;
    for (;;) {
      if (data.rest.length === 0) {
        if (data.ended) return void socket.end();
        data.ended = sent[data.at]! >= bytes;
        data.rest = data.ended ? last : block;
      }
      const written = socket.write(data.rest);
      if (written <= 0) return;
      sent[data.at]! += written;
      data.rest = data.rest.subarray(written);
      if (data.rest.length > 0) return;
    }
  }

  const server = Bun.listen<Answering>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { at: sent.push(0) - 1, begun: false, rest: first, ended: false };
      },
      data(socket) {
        if (socket.data.begun) return;
        socket.data.begun = true;
        pump(socket);
      },
      drain: (socket) => (socket.data.begun ? pump(socket) : undefined),
      close: () => void closed++,
      error() {},
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    sent,
    get closed() {
      return closed;
    },
    stop: () => server.stop(true),
  };
}
