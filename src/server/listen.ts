import { lookup } from 'node:dns/promises';
import type { AnyElysia } from 'elysia';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { codeOf, messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { boundUnsentBytes } from './listening-sockets.ts';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; choose another with --port'],
  ['EACCES', 'permission denied; choose a port above 1023 with --port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; choose another with --host'],
]);

/** Seconds without traffic after which a connection is closed, also if its client reads nothing of an answer. */
const IDLE_S = 30;

interface ListenTerms extends Pick<ServeOptions, 'port' | 'host'> {
  /** Bytes of the largest message of a WebSocket. */
  readonly socketBytesMax: number;
  /** `IDLE_S` unless given. */
  readonly idleS: number | undefined;
  /** The number of this process among those that listen at the port together; null: alone. */
  readonly process: number | null;
}

/** Takes the port. Resolves with the address; rejects with UsageError when that cannot be. */
export async function listen(
  app: Pick<AnyElysia, 'listen' | 'server'>,
  { port, host, socketBytesMax, idleS = IDLE_S, process }: ListenTerms,
): Promise<string> {
  // Sharing the port would let two servers start on it, each with some of the requests. The parent of several has tried it.
  const terms = { reusePort: process !== null, maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: idleS };
  try {
    // A larger message closes its connection, with 1009.
    app.listen({ port, hostname: host, ...terms, websocket: { maxPayloadLength: socketBytesMax } });
  } catch (cause) {
    throw await listenError(host, port, cause);
  }
  const bound = app.server?.port ?? port;
  boundUnsentBytes(bound);
  return urlOf(host, bound);
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Says why a port cannot be taken, which a flag names. */
export async function listenError(host: string, port: number, cause: unknown, flag = '--port'): Promise<UsageError> {
  const reason = (await reasonOf(cause, host)).replace('--port', flag);
  return new UsageError(`Cannot listen on ${host}:${port}: ${reason}.`);
}

async function reasonOf(cause: unknown, host: string): Promise<string> {
  // For a name or address that cannot be resolved, Bun reports the code of an earlier failure.
  if ((await lookup(host).catch(() => null)) === null) return 'there is no such address; choose another with --host';
  const code = codeOf(cause);
  return REASONS.get(code) ?? messageOf(cause);
}
