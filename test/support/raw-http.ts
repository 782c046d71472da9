/** A TCP connection to which a test writes bytes, well-formed or not. */
export interface RawConnection {
  /** Writes all bytes, even if the other side reads slowly; stops when the connection is closed. */
  write(data: string | Uint8Array): Promise<void>;
  /** Closes the writing half: the other side sees the end of the stream. */
  finish(): void;
  close(): void;
  /** Everything received so far. */
  readonly received: string;
  /** Resolves with everything received, once the other side has closed. */
  readonly closed: Promise<string>;
  /** Resolves with the first complete response: its head and as many bytes as its content-length states. */
  response(): Promise<RawResponse>;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Connects to the host and port of a URL. @param allowHalfOpen keeps this side open after the other side has ended */
export async function connect(url: string, allowHalfOpen = false): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const closed = Promise.withResolvers<string>();
  const decoder = new TextDecoder();
  let received = '';
  let over = false;
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const end = () => {
    over = true;
    closed.resolve(received);
    wake();
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    allowHalfOpen,
    socket: {
      data(_, data) {
        received += decoder.decode(data, { stream: true });
        wake();
      },
      drain: wake,
      end,
      close: end,
      error: end,
    },
  });
  return {
    async write(data) {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
      for (let sent = 0; sent < bytes.length && !over; ) {
        const { promise } = changed;
        sent += Math.max(0, socket.write(bytes.subarray(sent)));
        if (sent < bytes.length && !over) await promise;
      }
    },
    finish: () => void socket.shutdown(),
    close: () => void socket.end(),
    get received() {
      return received;
    },
    closed: closed.promise,
    async response() {
      for (;;) {
        const response = parse(received);
        if (response) return response;
        if (over) throw new Error(`closed without a whole response: ${received.slice(0, 200)}`);
        await changed.promise;
      }
    },
  };
}

function parse(text: string): RawResponse | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(':')[0]!, line.replace(/^[^:]*: */, '')]),
  );
  const length = Number(headers.get('content-length') ?? 0);
  const body = new TextEncoder().encode(text.slice(end + 4));
  if (body.length < length) return null;
  return { status: Number(first.split(' ')[1]), headers, body: new TextDecoder().decode(body.subarray(0, length)) };
}

/** The head of a chat request with a key, up to the empty line. */
export function chatHead(key: string, ...more: readonly string[]): string {
  const lines = ['host: localhost', `authorization: Bearer ${key}`, 'content-type: application/json', ...more];
  return `POST /v1/chat/completions HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}
