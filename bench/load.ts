import type { Socket } from 'bun';

/** One kind of request, sent over and over. */
export interface Shape {
  readonly name: string;
  readonly stream: boolean;
  /** Characters of the prompt. */
  readonly promptChars: number;
}

export interface Sample {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds a request, ascending. */
  readonly latencies: Float64Array;
}

/** The JSON text of a request. */
export function requestBody({ stream, promptChars }: Shape): string {
  return JSON.stringify({
    model: 'auto',
    ...(stream && { stream: true }),
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      {
        role: 'user',
        content: 'How do gateways choose a model? '.repeat(Math.ceil(promptChars / 32)).slice(0, promptChars),
      },
    ],
  });
}

/** The bytes of a whole HTTP request. */
export function requestBytes(shape: Shape, port: number, key: string): Uint8Array {
  const body = requestBody(shape);
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ].join('\r\n');
  return new TextEncoder().encode(`${head}\r\n\r\n${body}`);
}

/** No round takes so long. */
const STALL_MS = 60_000;
const LAST_CHUNK = [48, 13, 10, 13, 10]; // "0\r\n\r\n"

/** Whether an answer has come to its end: the last chunk of a chunked body, or the length that its head tells. */
class AnswerEnd {
  #length = -1;
  #chunked = false;
  #body = 0;
  #head = '';

  /** True once the answer is whole. Throws when it is not a 200. */
  push(data: Uint8Array): boolean {
    let from = 0;
    if (this.#length < 0 && !this.#chunked) {
      this.#head += Buffer.from(data).toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return false;
      if (!this.#head.startsWith('HTTP/1.1 200')) throw new Error(`not a 200: ${this.#head.slice(0, 400)}`);
      this.#chunked = /transfer-encoding: chunked/i.test(this.#head.slice(0, end));
      if (!this.#chunked) this.#length = Number(/content-length: (\d+)/i.exec(this.#head)?.[1]);
      from = data.length - (this.#head.length - end - 4);
    }
    this.#body += data.length - from;
    return this.#chunked
      ? LAST_CHUNK.every((byte, i) => data[data.length - 5 + i] === byte)
      : this.#body >= this.#length;
  }
}

/** Sends `requests` requests over `concurrency` connections that are kept open. */
export function run(port: number, bytes: Uint8Array, concurrency: number, requests: number): Promise<Sample> {
  const latencies = new Float64Array(requests);
  let sent = 0;
  let done = 0;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sockets: Socket<State>[] = [];
    const stalled = setTimeout(() => reject(new Error(`${done} of ${requests} answers came`)), STALL_MS);
    const finish = () => {
      clearTimeout(stalled);
      for (const socket of sockets) socket.end();
      resolve({ requests, seconds: (performance.now() - startedAt) / 1000, latencies: latencies.sort() });
    };
    const next = (socket: Socket<State>) => {
      if (sent >= requests) return;
      sent++;
      socket.data = { at: performance.now(), end: new AnswerEnd(), left: bytes };
      write(socket);
    };
    const handlers = {
      open: next,
      drain: write,
      data(socket: Socket<State>, data: Uint8Array) {
        try {
          if (!socket.data.end.push(data)) return;
        } catch (error) {
          reject(error);
          return;
        }
        latencies[done++] = performance.now() - socket.data.at;
        if (done === requests) finish();
        else next(socket);
      },
      close() {
        if (done < requests) reject(new Error('the connection was closed'));
      },
    };
    for (let i = 0; i < concurrency; i++) {
      const data: State = { at: 0, end: new AnswerEnd(), left: bytes };
      Bun.connect<State>({ hostname: '127.0.0.1', port, data, socket: handlers }).then(
        (socket) => sockets.push(socket),
        reject,
      );
    }
  });
}

interface State {
  at: number;
  end: AnswerEnd;
  /** What the kernel has not taken yet. */
  left: Uint8Array;
}

function write(socket: Socket<State>): void {
  if (socket.data.left.length > 0) socket.data.left = socket.data.left.subarray(socket.write(socket.data.left));
}
