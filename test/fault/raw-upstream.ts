import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { OpenAiRequest } from '../support/openai-wire.ts';
import { FOREIGN_HEAD, makePrefix, ownPath } from '../support/own-server.ts';
import { WORTHLESS_CERTIFICATE, WORTHLESS_KEY } from './worthless-certificate.ts';

/** The writing side of a connection. */
export interface ServerConnection {
  /** Resolves once the kernel has the bytes, or can no longer get them. */
  write(data: string | Uint8Array): Promise<void>;
  /** Closes the connection normally. */
  end(): void;
  /** Resets the connection: bytes in transit are lost. */
  reset(): void;
  readonly isGone: boolean;
}

/** A complete request. */
export interface RawRequest {
  /** The number of the request on its connection, from 1. */
  readonly nth: number;
  readonly head: string;
  readonly body: OpenAiRequest;
}

export interface RawUpstream {
  /** `http://127.0.0.1:PORT/for-SECRET`, or the same with `https:`. Requests with another path belong to other tests and are refused. */
  readonly url: string;
  stop(): void;
}

/** Starts a TCP server on 127.0.0.1 that reads HTTP requests and answers with any bytes. */
export function startRawUpstream(
  answer: (connection: ServerConnection, request: RawRequest) => unknown,
  { tls = false }: { readonly tls?: boolean } = {},
): Promise<RawUpstream> {
  const prefix = makePrefix();
  const sockets = new Set<Socket>();
  const take = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Ignored: the reader has closed the connection, as after most faults.
    socket.on('error', () => {});
    socket.setNoDelay(true);
    readRequests(socket, prefix, answer);
  };
  const server = tls ? createTlsServer({ cert: WORTHLESS_CERTIFICATE, key: WORTHLESS_KEY }, take) : createServer(take);
  // Ignored: a client that does not trust the certificate closes the connection during the handshake.
  server.on('tlsClientError', () => {});
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      resolve({
        url: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}${prefix}`,
        stop() {
          server.close();
          for (const socket of sockets) socket.destroy();
        },
      });
    });
  });
}

function readRequests(
  socket: Socket,
  prefix: string,
  answer: (connection: ServerConnection, request: RawRequest) => unknown,
): void {
  let received = Buffer.alloc(0);
  let nth = 0;
  socket.on('data', (data) => {
    received = Buffer.concat([received, typeof data === 'string' ? Buffer.from(data) : data]);
    for (;;) {
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = ownHead(prefix, received.subarray(0, end).toString('latin1'));
      if (head === null) return void socket.end(FOREIGN_HEAD);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      const text = received.subarray(end + 4, end + 4 + length).toString('utf8');
      received = received.subarray(end + 4 + length);
      void answer(connectionOf(socket), { nth: ++nth, head, body: text === '' ? {} : JSON.parse(text) });
    }
  });
}

/** @returns the head without the prefix in its path, or null for a request of another test */
function ownHead(prefix: string, head: string): string | null {
  const [method = '', target = '', ...rest] = head.split(' ');
  const path = ownPath(prefix, target);
  return path === null ? null : [method, path, ...rest].join(' ');
}

function connectionOf(socket: Socket): ServerConnection {
  return {
    write: (data) =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve();
        socket.once('close', resolve);
        socket.write(data, () => {
          socket.off('close', resolve);
          resolve();
        });
      }),
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    get isGone() {
      return socket.destroyed;
    },
  };
}
