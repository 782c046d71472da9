import { connect, createServer, type Socket } from 'node:net';

/** One connection. */
export interface Way {
  /** The beginning of all that its client has sent. */
  readonly said: string;
}

/** As much of it is kept, characters. */
const SAID_MAX = 10_000;

/** The way to a server on this machine, which a test may spoil. */
export interface Cable extends Disposable {
  readonly port: number;
  /** Lets no byte pass, either way, and tells neither side. */
  isSilent: boolean;
  /** Each byte takes so long, either way, ms. */
  delayMs: number;
  /** Whether new connections are taken; those that there are stay. */
  isOpen: boolean;
  /** Connections that there are. */
  readonly count: number;
  /** Ends all connections that there are. */
  cutAll(): void;
  /**
   * Called with what a client sends, and breaks its side: `behind` what was sent, which still arrives, but no answer; or `before` it,
   * which the server never sees, nor that the client is gone.
   */
  cuts: (sent: string, way: Way) => 'behind' | 'before' | false;
  /** Called with what a client sends, as far as it was not cut. That, and what comes behind it on its connection, waits as long. */
  holds: (sent: string, way: Way) => Promise<void> | null;
  /** Called with what the server answers, and changes it. */
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

/** @returns how to write what came, in its order, each part not before its time */
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
