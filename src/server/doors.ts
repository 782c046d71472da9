import type { AnyElysia } from 'elysia';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { followed } from '../admin/use-cases/served.ts';
import type { Log } from '../host/telemetry/log.ts';
import { openOperatorSocket } from '../http/operator-socket.ts';
import type { OpenStore } from '../store/driver.ts';
import { listen } from './listen.ts';

/** Opens the port. The only or first process of a data folder also opens the socket of the data folder. */
export async function openDoors(
  app: Pick<AnyElysia, 'listen' | 'server' | 'handle'>,
  { store, log }: { readonly store: OpenStore; readonly log: Log },
  options: ServeOptions,
  terms: Pick<Parameters<typeof listen>[1], 'socketBytesMax' | 'idleS'>,
) {
  const address = await listen(app, { ...options, ...terms });
  const isFirst = options.process === null || options.process === 1;
  const desk: Parameters<typeof openOperatorSocket>[1] = {
    handle: (request) => app.handle(request),
    follow: (change) => followed(store, async () => true, change),
  };
  const closeSocket = isFirst ? openOperatorSocket(options.home, desk, log) : null;
  const stopListening = () => {
    closeSocket?.();
    return app.server?.stop();
  };
  return { address, stopListening };
}
