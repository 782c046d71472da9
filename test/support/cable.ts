import { connect, createServer, type Socket } from 'node:net';

/** A connection through the cable. */
export interface Way {
  /** The first bytes that the client of this connection sent. */
  readonly said: string;
}

/** The most characters of `said` that are kept. */
const SAID_MAX = 10_000;

/** A proxy in front of a server on this machine. A test can make the proxy slow, silent or broken. */
export interface Cable extends Disposable {
  readonly port: number;
  /** Stops all bytes in both directions without a notice to the client or the server. */
  isSilent: boolean;
  /** Delays each byte by this time in both directions, ms. */
  delayMs: number;
  /** Whether the cable accepts new connections; existing connections stay open. */
  isOpen: boolean;
  /** The number of open connections. */
  readonly count: number;
  /** Closes all open connections. */
  cutAll(): void;
  /**
   * Called with the bytes that a client sends. Returns where to break the client's side. `behind`: the server still receives these bytes,
   * but its answer is lost. `before`: the server receives neither these bytes nor the end of the connection.
   */
  cuts: (sent: string, way: Way) => 'behind' | 'before' | false;
  /**
   * Called with the bytes that a client sends, unless they were cut. These bytes, and all later bytes of the connection, wait for the
   * promise.
   */
  holds: (sent: string, way: Way) => Promise<void> | null;
  /** Called with the bytes that the server sends; returns the bytes to pass on. */
  edits: (answer: Buffer) => Buffer;
}

export async function layCable(target: number): Promise<Cable> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (!cable.isOpen) return void near.destroy();
    const far = connect(target, '127.0.0.1');
    const way = { said: '' };
    let isCut = false;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    const there = lineTo((bytes, sent) => far.write(bytes, sent));
    const back = lineTo((bytes) => near.write(bytes));
    near.on('data', (bytes: Buffer) => {
      if (cable.isSilent) return;
      const text = bytes.toString('latin1');
      if (way.said.length < SAID_MAX) way.said += text;
      const cut = cable.cuts(text, way);
      if (cut === 'before') near.destroy();
      else there(bytes, cable.delayMs, cut ? null : cable.holds(text, way), () => cut && near.destroy());
      isCut ||= cut !== false;
    });
    far.on('data', (bytes: Buffer) => {
      if (!isCut && !cable.isSilent) back(cable.edits(bytes), cable.delayMs);
      else if (isCut) far.end();
    });
    near.on('close', () => isCut || end());
    far.on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const cable: Cable = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    isSilent: false,
    delayMs: 0,
    isOpen: true,
    get count() {
      return sockets.size / 2;
    },
    cuts: () => false,
    holds: () => null,
    edits: (answer) => answer,
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.dispose]() {
      server.close();
      cable.cutAll();
    },
  };
  return cable;
}

/** @returns a function that writes bytes in the order of their arrival, each part after its delay */
function lineTo(write: (bytes: Uint8Array, sent?: () => void) => unknown) {
  let last: Promise<unknown> | null = null;
  return (bytes: Uint8Array, delayMs: number, held: Promise<void> | null = null, sent?: () => void): void => {
    if (last === null && delayMs === 0 && held === null) return void write(bytes, sent);
    const due = Promise.all([last, held, delayMs > 0 ? Bun.sleep(delayMs) : null]);
    const own = due.then(() => {
      write(bytes, sent);
      if (last === own) last = null;
    });
    last = own;
  };
}
