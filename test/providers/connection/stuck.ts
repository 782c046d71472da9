import { createServer, type Socket } from 'node:net';

/** A listening port that never serves a connection. */
export interface StuckServer {
  readonly port: number;
  stop(): void;
}

/** More connections than the backlog of a server can hold. */
const CROWD = 600;
const BUSY_MS = 600_000;

/** Starts a server with a full backlog, which neither accepts nor refuses further connections. */
export async function startCrowded(): Promise<StuckServer> {
  const code = `const { port } = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    require('node:fs').writeSync(1, port + '\\n');
    Bun.sleepSync(${BUSY_MS});`;
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe' });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  let waiting = 0;
  const sockets: Bun.Socket[] = [];
  const open = (socket: Bun.Socket) => {
    waiting++;
    sockets.push(socket);
  };
  for (let i = 0; i < CROWD; i++) {
    Bun.connect({ hostname: '127.0.0.1', port, socket: { open, data() {} } }).catch(() => {});
  }
  for (let seen = -1; waiting !== seen; await Bun.sleep(100)) seen = waiting;
  return {
    port,
    stop() {
      child.kill('SIGKILL');
      for (const socket of sockets) socket.terminate();
    },
  };
}

/** Starts a server that accepts connections and then stays silent. */
export function startSilent(): Promise<StuckServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      const stop = () => {
        server.close();
        for (const socket of sockets) socket.destroy();
      };
      resolve({ port: address.port, stop });
    });
  });
}
