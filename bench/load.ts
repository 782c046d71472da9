import type { Socket } from 'bun';
import { httpBytes } from './workload.ts';

/** A kind of request, which the benchmark sends repeatedly. */
export interface Shape {
  readonly name: string;
  readonly stream: boolean;
  /** The number of characters in the prompt. */
  readonly promptChars: number;
}

export interface Sample {
  readonly requests: number;
  readonly seconds: number;
  /** The milliseconds per request, in ascending order. */
  readonly latencies: Float64Array;
  /** The number of incomplete answers. Without a judge, the number is always 0, because an incomplete answer then ends the run. */
  readonly errors: number;
}

/** Returns whether the body of a 200 is the complete answer. */
export type Judge = (body: string) => boolean;

/** Returns the bytes of a whole HTTP request, with the same prompt each time. */
export function requestBytes({ stream, promptChars }: Shape, port: number, key: string): Uint8Array {
  const content = 'How do gateways choose a model? '.repeat(Math.ceil(promptChars / 32)).slice(0, promptChars);
  const messages = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content },
  ];
  return httpBytes(port, '/v1/chat/completions', key, { model: 'auto', ...(stream && { stream: true }), messages });
}

/** The bytes to send: the same bytes for each request, or a function that returns the bytes of the next request. */
export type Requests = Uint8Array | (() => Uint8Array);

/** A run ends if there is no answer for this time, in ms. */
const STALL_MS = 30_000;
const LAST_CHUNK = [48, 13, 10, 13, 10]; // "0\r\n\r\n"

/** Detects the end of an answer: the last chunk of a chunked body, or the length stated in its head. */
class AnswerEnd {
  readonly #judge: Judge | null;
  readonly #pieces: Uint8Array[] = [];
  #length = -1;
  #chunked = false;
  #isOk = false;
  #body = 0;
  #head = '';
  /** The beginning of the last chunk if a read ended within it. */
  #tail: number[] = [];

  constructor(judge: Judge | null) {
    this.#judge = judge;
  }

  /** Returns true once the answer has ended. Throws if the answer is not a 200 and there is no judge. */
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

  /** Returns whether the received bytes are the complete answer. */
  isWhole(): boolean {
    if (!this.#judge) return true;
    const body = Buffer.concat(this.#pieces);
    return this.#isOk && this.#judge((this.#chunked ? unchunked(body) : body).toString('utf8'));
  }
}

/** Returns a body without the framing of its chunks. */
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
 * Sends `requests` requests over `concurrency` connections that are kept open. With a judge, incomplete answers are counted, and a closed
 * connection is opened again. Without a judge, an incomplete answer or a closed connection ends the run.
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
  /** The bytes that the kernel has not accepted yet. */
  left: Uint8Array;
  /** Whether the connection waits for an answer. */
  isOpen: boolean;
}

function write(socket: Socket<State>): void {
  if (socket.data.left.length > 0) socket.data.left = socket.data.left.subarray(socket.write(socket.data.left));
}
