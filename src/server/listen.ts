import { lookup } from 'node:dns/promises';
import type { AnyElysia } from 'elysia';
import { codeOf, messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { ServeOptions } from '../operate/serve-options.ts';
import { boundUnsentBytes } from './unsent-bytes.ts';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; choose another with --port'],
  ['EACCES', 'permission denied; choose a port above 1023 with --port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; choose another with --host'],
]);

interface ListenTerms extends Pick<ServeOptions, 'port' | 'host'> {
  /** Bytes of the largest message of a WebSocket. */
  readonly socketBytesMax: number;
}

/** Takes the port. Resolves with the address; rejects with UsageError when that cannot be. */
export async function listen(
  app: Pick<AnyElysia, 'listen' | 'server'>,
  { port, host, socketBytesMax }: ListenTerms,
): Promise<string> {
  // Sharing the port would let two servers start on it, each with some of the requests.
  const terms = { reusePort: false, maxRequestBodySize: Number.MAX_SAFE_INTEGER };
  try {
    // A larger message closes its connection, with 1009.
    app.listen({ port, hostname: host, ...terms, websocket: { maxPayloadLength: socketBytesMax } });
  } catch (cause) {
    throw new UsageError(`Cannot listen on ${host}:${port}: ${await reasonOf(cause, host)}.`);
  }
  const bound = app.server?.port ?? port;
  boundUnsentBytes(bound);
  const shown = host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${bound}`;
}

async function reasonOf(cause: unknown, host: string): Promise<string> {
  // For a name or address that cannot be resolved, Bun reports the code of an earlier failure.
  if ((await lookup(host).catch(() => null)) === null) return 'there is no such address; choose another with --host';
  const code = codeOf(cause);
  return REASONS.get(code) ?? messageOf(cause);
}
