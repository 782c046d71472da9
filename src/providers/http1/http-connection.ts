import type { Socket } from 'bun';
import type { PendingReply, Post, UpstreamReply } from '../reply.ts';
import { ReplyParser } from './reply-parser.ts';
import { sendBytes, sendRequest } from './request-bytes.ts';
import { boundReceiveWindow, hasArrived } from './socket-calls.ts';

/** The maximum number of bytes handed on at once, because processing them takes several times as much memory. */
const SLICE = 8_192;
/** The number of unread bytes above which the socket is paused. */
const UNREAD_MAX = 8_192;
/**
 * How many seconds an idle connection is kept. Most servers close idle connections later than that, so a connection is seldom closed just
 * when Signalbox reuses it.
 */
const IDLE_S = 45;

/** The destination of a connection. */
export interface ConnectionTarget {
  /** An IP address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The name that the certificate must be valid for; null for plain HTTP. */
  readonly servername: string | null;
  /** Whether the answers on this connection are streams. The unread part of a stream waits in the kernel, which limits its memory. */
  readonly stream: boolean;
}

/** The owner of a connection, which is notified of its state. */
export interface ConnectionOwner {
  /** Called when the connection can carry another request. */
  free(connection: HttpConnection): void;
  gone(connection: HttpConnection): void;
  /** Called when the number of abandoned connections that still try to connect changes by 1. Bun cannot cancel a connection attempt. */
  stray(change: 1 | -1): void;
}

/** Creates an error with a code, as fetch throws it. */
const connectionError = (code: string): Error => Object.assign(new Error('the connection failed'), { code });

/**
 * One HTTP/1.1 connection. fetch takes more CPU time and buffers up to 1.3 MB of an unread body without a setting for it. An
 * `HttpConnection` holds about ten KiB, so a caller who stops reading costs little. An `HttpConnection` does not follow redirects, keep
 * cookies or decompress.
 */
export class HttpConnection {
  readonly #target: ConnectionTarget;
  readonly #owner: ConnectionOwner;
  #socket: Socket<HttpConnection> | null = null;
  /** The socket's file descriptor; -1 before there is a socket. */
  #fd = -1;
  #isConnecting = false;
  #isReady = false;
  #isPaused = false;
  #gone: Error | null = null;
  #exchange: HttpExchange | null = null;
  /** The request until it is written; it may be large. */
  #request: Post | null = null;
  #requestStart = '';
  /** The rest of a request that is not yet written. */
  #unsent: Uint8Array | null = null;

  constructor(target: ConnectionTarget, owner: ConnectionOwner) {
    this.#target = target;
    this.#owner = owner;
  }

  /** Whether an idle connection can carry a request: it is open, and has no unread bytes that would close it. */
  get isUsable(): boolean {
    return this.#gone === null && !hasArrived(this.#fd);
  }

  /** Sends a request. The connection carries one request at a time. @param start as in `sendRequest` */
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

  /** Handles the end of the connection attempt, whether it succeeded or failed. */
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

  /** The connection writes nothing before the TLS handshake, so a server with an invalid certificate never receives a request. */
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
    // The caller abandoned the request while the connection was being established.
    if (!request) return;
    const { body } = request;
    request.onConnected();
    this.#unsent = this.#socket && sendRequest(this.#requestStart, body, this.#socket);
  }

  /** Writes as much of the rest of the request as the kernel accepts. */
  write(): void {
    if (this.#unsent && this.#socket) this.#unsent = sendBytes(this.#unsent, this.#socket);
  }

  received(data: Buffer): void {
    // If no request is open, the bytes are unsolicited and must not become the answer to the next request.
    if (this.#exchange) this.#exchange.take(data);
    else this.drop();
  }

  /** Handles a connection that the server closed. */
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

  /** Makes the connection available again after a complete answer. */
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

/** Returns the file descriptor of a socket, which Bun's types lack; -1 for none. */
const fdOf = (socket: Socket<HttpConnection>): number =>
  'fd' in socket && typeof socket.fd === 'number' ? socket.fd : -1;

/** One request and its answer on a connection. */
class HttpExchange implements PendingReply, UpstreamReply {
  readonly #connection: HttpConnection;
  readonly #parser = new ReplyParser();
  #unread: Buffer | null = null;
  #isOver = false;
  #error: Error | null = null;
  /** The reader that waits for the head, for more of the body or for the end. */
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
    // A malformed body may follow a valid head. An answer with a valid head has begun, and reading its body reports the error.
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
    // The connection does not wake the reader for a part of a head.
    if (this.#unread || (!hadHead && this.#parser.head)) this.#wake();
    // The connection pauses the socket while the caller does not read, because another read could bring several times the limit.
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
    // A view would keep its whole buffer in memory, so the connection copies a small rest.
    this.#unread = 2 * rest.length < rest.buffer.byteLength ? Buffer.copyBytesFrom(rest) : rest;
    return unread.subarray(0, SLICE);
  }

  #arrival(): Promise<void> {
    this.#connection.resume();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }
}
