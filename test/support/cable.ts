import { connect, createServer, type Socket } from 'node:net';

/** The way to a server on this machine, which a test may spoil. */
export interface Cable extends Disposable {
  readonly port: number;
  /** Lets no byte pass, either way, and tells neither side. */
  isSilent: boolean;
  /** Called with what a client sends. With true it still arrives, its answer does not, and the client's side breaks. */
  cuts: (sent: string) => boolean;
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
      if (cable.cuts(bytes.toString('latin1'))) {
        isCut = true;
        // Behind what was sent, which the server is to get.
        far.write(bytes, () => near.destroy());
      } else far.write(bytes);
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
    [Symbol.dispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return cable;
}
