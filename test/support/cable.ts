import { connect, createServer, type Socket } from 'node:net';

/** The way to a server on this machine, which a test may spoil. */
export interface Cable extends Disposable {
  readonly port: number;
  /** Lets no byte pass, either way, and tells neither side. */
  isSilent: boolean;
  /** Ends all connections that there are. */
  cutAll(): void;
  /**
   * Called with what a client sends, and breaks its side: `behind` what was sent, which still arrives, but no answer; or `before` it,
   * which the server never sees, nor that the client is gone.
   */
  cuts: (sent: string) => 'behind' | 'before' | false;
}

export async function layCable(target: number): Promise<Cable> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    let isCut = false;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', (bytes) => {
      if (cable.isSilent) return;
      const cut = cable.cuts(bytes.toString('latin1'));
      if (cut === false) return void far.write(bytes);
      isCut = true;
      if (cut === 'before') near.destroy();
      else far.write(bytes, () => near.destroy());
    });
    far.on('data', (bytes) => {
      if (!isCut && !cable.isSilent) near.write(bytes);
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
    cuts: () => false,
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
