import type { Socket } from 'bun';
import { boundReceiveWindow } from './receive-window.ts';
import { ReplyParser } from './reply-parser.ts';

/** Bytes handed on at once, at most: what is made of them on the way takes some times as much. */
const SLICE = 32_768;
/** Bytes that nobody has asked for yet, from which on the socket is not read. */
const UNREAD_MAX = 8_192;
/** Seconds that an idle connection is kept: less than most servers keep theirs, so that few are found dead when used. */
const IDLE_S = 45;

/** Where a line leads. */
export interface LineEnd {
  /** An address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The name that the certificate must be for; null for plain HTTP. */
  readonly servername: string | null;
}

export interface LineRequest {
  /** The whole request, head and body. */
  readonly bytes: Buffer;
  readonly signal: AbortSignal;
  /** Called once a connection stands, with its certificate found good, right before the first byte is written. */
  readonly onConnected: () => void;
}

/** Who is told of a line's fate. */
export interface LineHost {
  /** It can carry another request. */
  free(line: Line): void;
  gone(line: Line): void;
  /** One more, or one less, that was given up and still tries to connect: Bun cannot stop that. */
  stray(more: 1 | -1): void;
}

/** An error as fetch has them: its code says what it was. */
const lineError = (code: string): Error => Object.assign(new Error('the connection failed'), { code });

/**
 * One HTTP/1.1 connection, for answers that stream. fetch takes in up to 1.3 MB of a body that nobody reads, and has
 * no setting for it; a line holds some ten KiB, so that a caller who stops to read costs no more. It follows no
 * redirect, keeps no cookie and decompresses nothing.
 */
export class Line {
  readonly #end: LineEnd;
  readonly #host: LineHost;
  #socket: Socket<Line> | null = null;
  #isConnecting = false;
  #isReady = false;
  #gone: Error | null = null;
  #turn: Turn | null = null;
  /** Until it is written; it may be large. */
  #request: LineRequest | null = null;
  /** What is left to write of a request. */
  #unsent: Buffer | null = null;

  constructor(end: LineEnd, host: LineHost) {
    this.#end = end;
    this.#host = host;
  }

  /** Whether it may carry a request. */
  get isOpen(): boolean {
    return this.#gone === null;
  }

  /** Sends a request and resolves with the head of its answer, as fetch does. One at a time. */
  send(request: LineRequest): Promise<Response> {
    const turn = new Turn(request.signal, {
      more: () => void this.#socket?.resume(),
      less: () => void this.#socket?.pause(),
      free: () => this.#free(),
      drop: (error) => this.drop(error),
    });
    this.#turn = turn;
    this.#request = request;
    if (this.#gone) turn.fail(this.#gone);
    else if (this.#isReady) this.#begin();
    else void this.#connect();
    return turn.opened;
  }

  /** Closes the connection at once. */
  drop(error: Error = lineError('ECONNRESET')): void {
    if (this.#gone) return;
    this.#gone = error;
    this.#socket?.terminate();
    this.#turn?.fail(error);
    this.#turn = null;
    this.#request = null;
    this.#unsent = null;
    this.#host.gone(this);
    if (this.#isConnecting) this.#host.stray(1);
  }

  async #connect(): Promise<void> {
    const { hostname, port, servername } = this.#end;
    const tls = servername === null ? {} : { tls: { serverName: servername, rejectUnauthorized: true } };
    this.#isConnecting = true;
    try {
      await Bun.connect<Line>({ hostname, port, ...tls, data: this, socket: HANDLERS });
    } catch (error) {
      this.#connected();
      this.drop(error instanceof Error ? error : lineError('FailedToOpenSocket'));
    }
  }

  /** There is a connection, or there will be none. */
  #connected(): void {
    if (this.#isConnecting && this.#gone) this.#host.stray(-1);
    this.#isConnecting = false;
  }

  opened(socket: Socket<Line>): void {
    this.#socket = socket;
    this.#connected();
    if (this.#gone) {
      socket.terminate();
      return;
    }
    // Bun has it; its types do not tell.
    if ('fd' in socket && typeof socket.fd === 'number') boundReceiveWindow(socket.fd);
    if (this.#end.servername === null) this.#begin();
  }

  /** Nothing was written before this: an unfit certificate never sees a request. */
  shook(isGood: boolean, error: Error | null): void {
    if (!isGood || error || this.#socket?.authorized !== true) this.drop(error ?? lineError('ERR_TLS_HANDSHAKE'));
    else this.#begin();
  }

  #begin(): void {
    this.#isReady = true;
    this.#socket?.timeout(0);
    this.#socket?.ref();
    const request = this.#request;
    this.#request = null;
    // Given up while it connected.
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
    // What nobody asked for is no answer to the next request.
    if (this.#turn) this.#turn.take(data);
    else this.drop();
  }

  /** The other side has closed. */
  closed(error: Error = lineError('ECONNRESET')): void {
    if (this.#gone) return;
    if (this.#turn?.close()) this.#turn = null;
    this.drop(error);
  }

  #free(): void {
    const isWhole = this.#unsent === null && this.#turn?.keepAlive === true;
    this.#turn = null;
    if (!isWhole) {
      this.drop();
      return;
    }
    this.#socket?.resume();
    this.#socket?.timeout(IDLE_S);
    // The process may end with idle connections.
    this.#socket?.unref();
    this.#host.free(this);
  }
}

const HANDLERS = {
  open: (socket: Socket<Line>) => socket.data.opened(socket),
  handshake: (socket: Socket<Line>, success: boolean, error: Error | null) => socket.data.shook(success, error),
  data: (socket: Socket<Line>, data: Buffer) => socket.data.received(data),
  drain: (socket: Socket<Line>) => socket.data.write(),
  timeout: (socket: Socket<Line>) => socket.data.drop(),
  end: (socket: Socket<Line>) => socket.data.closed(),
  close: (socket: Socket<Line>) => socket.data.closed(),
  error: (socket: Socket<Line>, error: Error) => socket.data.closed(error),
};

interface TurnHost {
  /** Reads from the socket again, or stops to. */
  more(): void;
  less(): void;
  /** The answer is whole. */
  free(): void;
  drop(error: Error): void;
}

/** One request and its answer on a line. */
class Turn {
  readonly opened: Promise<Response>;
  readonly #signal: AbortSignal;
  readonly #host: TurnHost;
  readonly #parser = new ReplyParser();
  readonly #head = Promise.withResolvers<Response>();
  readonly #abort = () => this.#host.drop(new DOMException('The operation was aborted.', 'AbortError'));
  #unread: Buffer | null = null;
  #isPaused = false;
  #isOver = false;
  #error: Error | null = null;
  #waiting: (() => void) | null = null;

  constructor(signal: AbortSignal, host: TurnHost) {
    this.#signal = signal;
    this.#host = host;
    this.opened = this.#head.promise;
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
      this.#host.drop(error instanceof Error ? error : lineError('BadReply'));
      return;
    }
    this.#keep(pieces);
    if (!hadHead) this.#tellHead();
    if (this.#parser.ended) {
      this.#end();
      return;
    }
    if (!this.#isPaused && (this.#unread?.length ?? 0) > UNREAD_MAX) {
      this.#isPaused = true;
      this.#host.less();
    }
  }

  /** The connection is closed. Returns whether the answer was whole. */
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
    this.#host.free();
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

  #tellHead(): void {
    const { head } = this.#parser;
    if (!head) return;
    const { status, headers } = head;
    if (status > 599) {
      this.#host.drop(lineError('BadReply'));
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
          if (!this.#isOver) this.#host.drop(lineError('ECONNRESET'));
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The next bytes of the body; null behind the last. Rejects where it broke off, once all that came was told. */
  async #next(): Promise<Buffer | null> {
    while (!this.#unread) {
      if (this.#error) throw this.#error;
      if (this.#isOver) return null;
      if (this.#isPaused) {
        this.#isPaused = false;
        this.#host.more();
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
    // A view keeps the whole of what it is a view of.
    this.#unread = 2 * rest.length < rest.buffer.byteLength ? Buffer.copyBytesFrom(rest) : rest;
    return unread.subarray(0, SLICE);
  }
}
