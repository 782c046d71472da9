import type { Socket } from 'bun';
import type { PendingReply, Post, UpstreamReply } from '../reply.ts';
import { ReplyParser } from './reply-parser.ts';
import { sendBytes, sendRequest } from './request-bytes.ts';
import { boundReceiveWindow, hasArrived } from './socket-calls.ts';

/** The most bytes handed on at once: processing them takes several times their size. */
const SLICE = 8_192;
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
  /** Whether its answers are streams, which wait in the kernel, in little memory, until their caller reads. */
  readonly stream: boolean;
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
 * One HTTP/1.1 connection. fetch costs more CPU, buffers up to 1.3 MB of an unread body and has no setting for it; this
 * class holds about ten KiB, so that a caller who stops reading costs little. It does not follow redirects, keep cookies
 * or decompress.
 */
export class HttpConnection {
  readonly #target: ConnectionTarget;
  readonly #owner: ConnectionOwner;
  #socket: Socket<HttpConnection> | null = null;
  /** The socket's descriptor; -1 before there is one. */
  #fd = -1;
  #isConnecting = false;
  #isReady = false;
  #isPaused = false;
  #gone: Error | null = null;
  #exchange: HttpExchange | null = null;
  /** The request until it is written: it may be large. */
  #request: Post | null = null;
  #requestStart = '';
  /** The unwritten rest of a request. */
  #unsent: Uint8Array | null = null;

  constructor(target: ConnectionTarget, owner: ConnectionOwner) {
    this.#target = target;
    this.#owner = owner;
  }

  /** Whether an idle connection may carry a request: it was not closed, not even by bytes that are still to be read. */
  get isUsable(): boolean {
    return this.#gone === null && !hasArrived(this.#fd);
  }

  /** Sends a request. Takes one at a time. @param start as in `sendRequest` */
  send(request: Post, start: string): PendingReply {
    const exchange = new HttpExchange(this);
    this.#exchange = exchange;
    this.#request = request;
    this.#requestStart = start;
    if (this.#isReady) this.#begin();
    else void this.#connect();
    return exchange;
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
    this.#fd = fdOf(socket);
    this.#connected();
    if (this.#gone) {
      socket.terminate();
      return;
    }
    if (this.#target.stream) boundReceiveWindow(this.#fd);
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
    const { body } = request;
    request.onConnected();
    this.#unsent = this.#socket && sendRequest(this.#requestStart, body, this.#socket);
  }

  /** Writes as much of the rest as the kernel takes. */
  write(): void {
    if (this.#unsent && this.#socket) this.#unsent = sendBytes(this.#unsent, this.#socket);
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

  pause(): void {
    if (!this.#isPaused) this.#socket?.pause();
    this.#isPaused = true;
  }

  resume(): void {
    if (this.#isPaused) this.#socket?.resume();
    this.#isPaused = false;
  }

  /** The answer is complete. */
  free(): void {
    const isWhole = this.#unsent === null && this.#exchange?.keepAlive === true;
    this.#exchange = null;
    if (!isWhole) {
      this.drop();
      return;
    }
    this.resume();
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

/** The descriptor of a socket, which Bun's types lack; -1 for none. */
const fdOf = (socket: Socket<HttpConnection>): number =>
  'fd' in socket && typeof socket.fd === 'number' ? socket.fd : -1;

/** One request and its answer on a connection. */
class HttpExchange implements PendingReply, UpstreamReply {
  readonly #connection: HttpConnection;
  readonly #parser = new ReplyParser();
  #unread: Buffer | null = null;
  #isOver = false;
  #error: Error | null = null;
  /** The reader that waits for the head, more of the body or the end. */
  #waiting: PromiseWithResolvers<void> | null = null;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  get status(): number {
    return this.#parser.head!.status;
  }

  get headers(): Headers {
    return this.#parser.head!.headers();
  }

  header(name: string): string | null {
    return this.#parser.head!.header(name);
  }

  get keepAlive(): boolean {
    return this.#parser.keepAlive;
  }

  reply(): UpstreamReply | Promise<void> {
    // A body may be malformed behind a sound head: then the answer has begun.
    if (this.#parser.head) return this;
    if (this.#error) throw this.#error;
    return this.#arrival();
  }

  abort(): void {
    if (!this.#isOver) this.#connection.drop(new DOMException('The operation was aborted.', 'AbortError'));
  }

  cancel(): void {
    if (!this.#isOver) this.#connection.drop();
  }

  take(data: Buffer): void {
    const isAwaited = this.#waiting !== null;
    const hadHead = this.#parser.head !== null;
    try {
      const bytes = this.#parser.push(data);
      if (bytes) this.#unread = this.#unread ? Buffer.concat([this.#unread, bytes]) : bytes;
    } catch (error) {
      this.#connection.drop(error instanceof Error ? error : connectionError('BadReply'));
      return;
    }
    if (this.#parser.ended) {
      this.#over();
      this.#connection.free();
      return;
    }
    // A piece of a head is nothing to read yet.
    if (this.#unread || (!hadHead && this.#parser.head)) this.#wake();
    // No read while the caller does not read: one more would be several times as much.
    if (!isAwaited || (this.#unread?.length ?? 0) > UNREAD_MAX) this.#connection.pause();
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
    this.#over();
  }

  #over(): void {
    this.#isOver = true;
    this.#wake();
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  read(): Uint8Array | null | Promise<void> {
    const unread = this.#unread;
    if (unread === null) {
      if (this.#error) throw this.#error;
      return this.#isOver ? null : this.#arrival();
    }
    if (unread.length <= SLICE) {
      this.#unread = null;
      return unread;
    }
    const rest = unread.subarray(SLICE);
    // A view keeps its whole buffer in memory.
    this.#unread = 2 * rest.length < rest.buffer.byteLength ? Buffer.copyBytesFrom(rest) : rest;
    return unread.subarray(0, SLICE);
  }

  #arrival(): Promise<void> {
    this.#connection.resume();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }
}
