import type { Socket } from 'bun';
import { boundReceiveWindow } from './receive-window.ts';
import { ReplyParser } from './reply-parser.ts';

/** The most bytes handed on at once: processing them takes several times their size. */
const SLICE = 32_768;
/** Unread bytes above which the socket is paused. */
const UNREAD_MAX = 8_192;
/** Seconds that an idle connection is kept: shorter than most servers' limit, so that few are dead when reused. */
const IDLE_S = 45;

/** The destination of a connection. */
export interface ConnectionTarget {
  /** An IP address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The name that the certificate must be for; null for plain HTTP. */
  readonly servername: string | null;
}

export interface RawRequest {
  /** The whole request, head and body. */
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
  /** Called when the connection is established and its certificate verified, before the first byte is written. */
  readonly onConnected: () => void;
}

/** The owner of a connection, notified of its state. */
export interface ConnectionOwner {
  /** The connection can carry another request. */
  free(connection: HttpConnection): void;
  gone(connection: HttpConnection): void;
  /** One more, or one fewer, abandoned connection that still tries to connect: Bun cannot cancel that. */
  stray(change: 1 | -1): void;
}

/** An error with a code, as fetch throws them. */
const connectionError = (code: string): Error => Object.assign(new Error('the connection failed'), { code });

/**
 * One HTTP/1.1 connection, for streamed answers. fetch buffers up to 1.3 MB of an unread body and has no setting for
 * it; this class holds about ten KiB, so that a caller who stops reading costs little. It does not follow redirects,
 * keep cookies or decompress.
 */
export class HttpConnection {
  readonly #target: ConnectionTarget;
  readonly #owner: ConnectionOwner;
  #socket: Socket<HttpConnection> | null = null;
  #isConnecting = false;
  #isReady = false;
  #gone: Error | null = null;
  #exchange: HttpExchange | null = null;
  /** The request until it is written: it may be large. */
  #request: RawRequest | null = null;
  /** The unwritten rest of a request. */
  #unsent: Buffer | null = null;

  constructor(target: ConnectionTarget, owner: ConnectionOwner) {
    this.#target = target;
    this.#owner = owner;
  }

  /** Whether the connection may carry a request. */
  get isOpen(): boolean {
    return this.#gone === null;
  }

  /** Sends a request and resolves with the head of its answer, as fetch does. Takes one request at a time. */
  send(request: RawRequest): Promise<Response> {
    const exchange = new HttpExchange(request.signal, {
      resume: () => void this.#socket?.resume(),
      pause: () => void this.#socket?.pause(),
      free: () => this.#free(),
      drop: (error) => this.drop(error),
    });
    this.#exchange = exchange;
    this.#request = request;
    if (this.#gone) exchange.fail(this.#gone);
    else if (this.#isReady) this.#begin();
    else void this.#connect();
    return exchange.response;
  }

  /** Closes the connection at once. */
  drop(error: Error = connectionError('ECONNRESET')): void {
    if (this.#gone) return;
    this.#gone = error;
    this.#socket?.terminate();
    this.#exchange?.fail(error);
    this.#exchange = null;
    this.#request = null;
    this.#unsent = null;
    this.#owner.gone(this);
    if (this.#isConnecting) this.#owner.stray(1);
  }

  async #connect(): Promise<void> {
    const { hostname, port, servername } = this.#target;
    const tls = servername === null ? {} : { tls: { serverName: servername, rejectUnauthorized: true } };
    this.#isConnecting = true;
    try {
      await Bun.connect<HttpConnection>({ hostname, port, ...tls, data: this, socket: HANDLERS });
    } catch (error) {
      this.#connected();
      this.drop(error instanceof Error ? error : connectionError('FailedToOpenSocket'));
    }
  }

  /** The attempt to connect has ended, either way. */
  #connected(): void {
    if (this.#isConnecting && this.#gone) this.#owner.stray(-1);
    this.#isConnecting = false;
  }

  opened(socket: Socket<HttpConnection>): void {
    this.#socket = socket;
    this.#connected();
    if (this.#gone) {
      socket.terminate();
      return;
    }
    // Bun's types lack `fd`.
    if ('fd' in socket && typeof socket.fd === 'number') boundReceiveWindow(socket.fd);
    if (this.#target.servername === null) this.#begin();
  }

  /** Nothing was written before this: an invalid certificate never gets a request. */
  handshaken(isGood: boolean, error: Error | null): void {
    if (!isGood || error || this.#socket?.authorized !== true) this.drop(error ?? connectionError('ERR_TLS_HANDSHAKE'));
    else this.#begin();
  }

  #begin(): void {
    this.#isReady = true;
    this.#socket?.timeout(0);
    this.#socket?.ref();
    const request = this.#request;
    this.#request = null;
    // Abandoned while it connected.
    if (!request) return;
    request.onConnected();
    this.#unsent = request.bytes;
    this.write();
  }

  /** Writes as much as the kernel takes. */
  write(): void {
    const unsent = this.#unsent;
    if (!unsent || !this.#socket) return;
    const written = Math.max(0, this.#socket.write(unsent));
    this.#unsent = written < unsent.length ? unsent.subarray(written) : null;
  }

  received(data: Buffer): void {
    // Unsolicited bytes must not become the answer to the next request.
    if (this.#exchange) this.#exchange.take(data);
    else this.drop();
  }

  /** The server has closed. */
  closed(error: Error = connectionError('ECONNRESET')): void {
    if (this.#gone) return;
    if (this.#exchange?.close()) this.#exchange = null;
    this.drop(error);
  }

  #free(): void {
    const isWhole = this.#unsent === null && this.#exchange?.keepAlive === true;
    this.#exchange = null;
    if (!isWhole) {
      this.drop();
      return;
    }
    this.#socket?.resume();
    this.#socket?.timeout(IDLE_S);
    // Idle connections must not keep the process alive.
    this.#socket?.unref();
    this.#owner.free(this);
  }
}

const HANDLERS = {
  open: (socket: Socket<HttpConnection>) => socket.data.opened(socket),
  handshake: (socket: Socket<HttpConnection>, success: boolean, error: Error | null) =>
    socket.data.handshaken(success, error),
  data: (socket: Socket<HttpConnection>, data: Buffer) => socket.data.received(data),
  drain: (socket: Socket<HttpConnection>) => socket.data.write(),
  timeout: (socket: Socket<HttpConnection>) => socket.data.drop(),
  end: (socket: Socket<HttpConnection>) => socket.data.closed(),
  close: (socket: Socket<HttpConnection>) => socket.data.closed(),
  error: (socket: Socket<HttpConnection>, error: Error) => socket.data.closed(error),
};

interface ExchangeOwner {
  resume(): void;
  pause(): void;
  /** The answer is complete. */
  free(): void;
  drop(error: Error): void;
}

/** One request and its answer on a connection. */
class HttpExchange {
  readonly response: Promise<Response>;
  readonly #signal: AbortSignal;
  readonly #owner: ExchangeOwner;
  readonly #parser = new ReplyParser();
  readonly #head = Promise.withResolvers<Response>();
  readonly #abort = () => this.#owner.drop(new DOMException('The operation was aborted.', 'AbortError'));
  #unread: Buffer | null = null;
  #isPaused = false;
  #isOver = false;
  #error: Error | null = null;
  #waiting: (() => void) | null = null;

  constructor(signal: AbortSignal, owner: ExchangeOwner) {
    this.#signal = signal;
    this.#owner = owner;
    this.response = this.#head.promise;
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) queueMicrotask(this.#abort);
  }

  get keepAlive(): boolean {
    return this.#parser.keepAlive;
  }

  take(data: Buffer): void {
    const hadHead = this.#parser.head !== null;
    let pieces: Buffer[];
    try {
      pieces = this.#parser.push(data);
    } catch (error) {
      this.#owner.drop(error instanceof Error ? error : connectionError('BadReply'));
      return;
    }
    this.#keep(pieces);
    if (!hadHead) this.#resolveHead();
    if (this.#parser.ended) {
      this.#end();
      return;
    }
    if (!this.#isPaused && (this.#unread?.length ?? 0) > UNREAD_MAX) {
      this.#isPaused = true;
      this.#owner.pause();
    }
  }

  /** Handles the end of the connection. Returns whether the answer was complete. */
  close(): boolean {
    if (this.#isOver || !this.#parser.close()) return this.#isOver;
    this.#over();
    return true;
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#error = error;
    this.#head.reject(error);
    this.#over();
  }

  #end(): void {
    this.#over();
    this.#owner.free();
  }

  #over(): void {
    this.#isOver = true;
    this.#signal.removeEventListener('abort', this.#abort);
    this.#wake();
  }

  #keep(pieces: Buffer[]): void {
    if (pieces.length === 0) return;
    const all = this.#unread ? [this.#unread, ...pieces] : pieces;
    this.#unread = all.length === 1 ? all[0]! : Buffer.concat(all);
    this.#wake();
  }

  #wake(): void {
    const wake = this.#waiting;
    this.#waiting = null;
    wake?.();
  }

  #resolveHead(): void {
    const { head } = this.#parser;
    if (!head) return;
    const { status, headers } = head;
    if (status > 599) {
      this.#owner.drop(connectionError('BadReply'));
      return;
    }
    const body = status === 204 || status === 304 ? null : this.#body();
    this.#head.resolve(new Response(body, { status, headers }));
  }

  #body(): ReadableStream<Uint8Array<ArrayBufferLike>> {
    return new ReadableStream<Uint8Array<ArrayBufferLike>>(
      {
        pull: async (controller) => {
          const piece = await this.#next();
          if (piece) controller.enqueue(piece);
          else controller.close();
        },
        cancel: () => {
          if (!this.#isOver) this.#owner.drop(connectionError('ECONNRESET'));
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Returns the next bytes of the body; null after the last. Rejects after the last bytes of a body that broke off. */
  async #next(): Promise<Buffer | null> {
    while (!this.#unread) {
      if (this.#error) throw this.#error;
      if (this.#isOver) return null;
      if (this.#isPaused) {
        this.#isPaused = false;
        this.#owner.resume();
      }
      await new Promise<void>((wake) => {
        this.#waiting = wake;
      });
    }
    const unread = this.#unread;
    if (unread.length <= SLICE) {
      this.#unread = null;
      return unread;
    }
    const rest = unread.subarray(SLICE);
    // A view keeps its whole buffer in memory.
    this.#unread = 2 * rest.length < rest.buffer.byteLength ? Buffer.copyBytesFrom(rest) : rest;
    return unread.subarray(0, SLICE);
  }
}
