import type { Socket } from 'bun';
import { httpBytes } from './workload.ts';

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
  /** Answers that were not whole; always 0 where nobody judges them, for there an error ends the run. */
  readonly errors: number;
}

/** Whether the body of a 200 is the whole answer. */
export type Judge = (body: string) => boolean;

/** The bytes of a whole HTTP request, with the same prompt each time. */
export function requestBytes({ stream, promptChars }: Shape, port: number, key: string): Uint8Array {
  const content = 'How do gateways choose a model? '.repeat(Math.ceil(promptChars / 32)).slice(0, promptChars);
  const messages = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content },
  ];
  return httpBytes(port, '/v1/chat/completions', key, { model: 'auto', ...(stream && { stream: true }), messages });
}

/** The bytes to send: the same each time, or those of one request after the other. */
export type Requests = Uint8Array | (() => Uint8Array);

/** So long without an answer ends a run. */
const STALL_MS = 30_000;
const LAST_CHUNK = [48, 13, 10, 13, 10]; // "0\r\n\r\n"

/** Whether an answer has come to its end: the last chunk of a chunked body, or the length that its head tells. */
class AnswerEnd {
  readonly #judge: Judge | null;
  readonly #pieces: Uint8Array[] = [];
  #length = -1;
  #chunked = false;
  #isOk = false;
  #body = 0;
  #head = '';
  /** Where a read ended within the last chunk. */
  #tail: number[] = [];

  constructor(judge: Judge | null) {
    this.#judge = judge;
  }

  /** True once the answer has ended. Throws when it is not a 200 and nobody judges. */
  push(data: Uint8Array): boolean {
    let from = 0;
    if (this.#length < 0 && !this.#chunked) {
      this.#head += Buffer.from(data).toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return false;
      this.#isOk = this.#head.startsWith('HTTP/1.1 200');
      if (!this.#isOk && !this.#judge) throw new Error(`not a 200: ${this.#head.slice(0, 400)}`);
      this.#chunked = /transfer-encoding: chunked/i.test(this.#head.slice(0, end));
      if (!this.#chunked) this.#length = Number(/content-length: (\d+)/i.exec(this.#head)?.[1]);
      from = data.length - (this.#head.length - end - 4);
    }
    this.#body += data.length - from;
    if (this.#judge) this.#pieces.push(data.subarray(from).slice());
    if (!this.#chunked) return this.#body >= this.#length;
    this.#tail = [...this.#tail, ...data.subarray(Math.max(from, data.length - LAST_CHUNK.length))].slice(-5);
    return LAST_CHUNK.every((byte, i) => this.#tail[i] === byte);
  }

  /** Whether what has come is the whole answer. */
  isWhole(): boolean {
    if (!this.#judge) return true;
    const body = Buffer.concat(this.#pieces);
    return this.#isOk && this.#judge((this.#chunked ? unchunked(body) : body).toString('utf8'));
  }
}

/** A body without the framing of its chunks. */
function unchunked(body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.toString('latin1', at, line), 16);
    if (line < 0 || !(length > 0)) return Buffer.concat(pieces);
    pieces.push(body.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}

/**
 * Sends `requests` requests over `concurrency` connections that are kept open. With a judge, answers that are not whole
 * are counted, and a connection that was closed is opened again; without one, either ends the run.
 */
export function run(
  port: number,
  requestsOf: Requests,
  concurrency: number,
  requests: number,
  judge: Judge | null = null,
): Promise<Sample> {
  const latencies = new Float64Array(requests);
  const bytesOfNext = typeof requestsOf === 'function' ? requestsOf : () => requestsOf;
  let sent = 0;
  let done = 0;
  let errors = 0;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sockets = new Set<Socket<State>>();
    let before = -1;
    const watch = setInterval(() => {
      if (done === before) reject(new Error(`${done} of ${requests} answers came`));
      before = done;
    }, STALL_MS);
    const finish = () => {
      clearInterval(watch);
      for (const socket of sockets) socket.end();
      resolve({ requests, seconds: (performance.now() - startedAt) / 1000, latencies: latencies.sort(), errors });
    };
    const fresh = (left: Uint8Array): State => ({
      at: performance.now(),
      end: new AnswerEnd(judge),
      left,
      isOpen: true,
    });
    const next = (socket: Socket<State>) => {
      if (sent >= requests) return;
      sent++;
      socket.data = fresh(bytesOfNext());
      write(socket);
    };
    const count = (socket: Socket<State>, isWhole: boolean) => {
      socket.data.isOpen = false;
      if (!isWhole) errors++;
      latencies[done++] = performance.now() - socket.data.at;
      if (done === requests) finish();
    };
    const handlers = {
      open(socket: Socket<State>) {
        sockets.add(socket);
        next(socket);
      },
      drain: write,
      data(socket: Socket<State>, data: Uint8Array) {
        try {
          if (!socket.data.end.push(data)) return;
        } catch (error) {
          reject(error);
          return;
        }
        count(socket, socket.data.end.isWhole());
        if (done < requests) next(socket);
      },
      close(socket: Socket<State>) {
        sockets.delete(socket);
        if (done >= requests) return;
        if (!judge) return reject(new Error('the connection was closed'));
        if (socket.data.isOpen) count(socket, false);
        if (sent < requests) connect();
      },
    };
    const connect = () => {
      const data: State = { ...fresh(new Uint8Array()), isOpen: false };
      Bun.connect<State>({ hostname: '127.0.0.1', port, data, socket: handlers }).catch(reject);
    };
    for (let i = 0; i < concurrency; i++) connect();
  });
}

interface State {
  at: number;
  end: AnswerEnd;
  /** What the kernel has not taken yet. */
  left: Uint8Array;
  /** Whether an answer is awaited. */
  isOpen: boolean;
}

function write(socket: Socket<State>): void {
  if (socket.data.left.length > 0) socket.data.left = socket.data.left.subarray(socket.write(socket.data.left));
}
