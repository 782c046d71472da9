import { lookup } from 'node:dns/promises';
import type { AnyElysia } from 'elysia';
import type { Door } from '../admin/use-cases/doctor/finding.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { isObject } from '../core/json/object.ts';
import { codeOf, messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { outbound } from '../host/outbound.ts';
import { boundUnsentBytes } from './listening-sockets.ts';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; choose another with --port'],
  ['EACCES', 'permission denied; choose a port above 1023 with --port'],
  ['EADDRNOTAVAIL', 'this machine does not have this address; choose another with --host'],
]);

/** The server closes a connection after so many seconds without traffic, also if its client does not read the answer. */
const IDLE_S = 30;

interface ListenTerms extends Pick<ServeOptions, 'port' | 'host'> {
  /** The largest message of a WebSocket, in bytes. */
  readonly socketBytesMax: number;
  /** Replaces `IDLE_S` if given. */
  readonly idleS: number | undefined;
  /** The number of this process among the processes that share the port; null if it is alone. */
  readonly process: number | null;
}

/** Opens the port. Resolves with the address; rejects with UsageError if the server cannot open the port. */
export async function listen(
  app: Pick<AnyElysia, 'listen' | 'server'>,
  { port, host, socketBytesMax, idleS = IDLE_S, process }: ListenTerms,
): Promise<string> {
  // A single server must not share its port: two servers could start on it, and each would get some of the requests. With several
  // processes, the parent has checked that the port is free.
  const terms = { reusePort: process !== null, maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: idleS };
  try {
    // A message that is larger than `socketBytesMax` closes the connection with the WebSocket code 1009.
    app.listen({ port, hostname: host, ...terms, websocket: { maxPayloadLength: socketBytesMax } });
  } catch (cause) {
    throw await listenError(host, port, cause);
  }
  const bound = app.server?.port ?? port;
  boundUnsentBytes(bound);
  return urlOf(host, bound);
}

/**
 * Checks that a port is free, and closes it again.
 * @returns the port; for port 0 one that is free
 * @throws UsageError if a server cannot open the port
 */
export async function takePort(host: string, port: number): Promise<number> {
  try {
    return tryPort(host, port);
  } catch (cause) {
    throw await listenError(host, port, cause);
  }
}

function tryPort(hostname: string, port: number): number {
  const found = Bun.listen({ hostname, port, socket: { data() {} } });
  const { port: taken } = found;
  found.stop(true);
  return taken;
}

/** Finds out whether a server could open a port, and else which kind of program uses it. Never rejects. */
export async function tryDoor(host: string, port: number): Promise<Door> {
  const address = `${host}:${port}`;
  try {
    tryPort(host, port);
    return { address, user: 'free' };
  } catch (cause) {
    if (codeOf(cause) !== 'EADDRINUSE') return { address, fault: (await listenError(host, port, cause)).message };
    return { address, user: (await isSignalbox(host, port)) ? 'signalbox' : 'program' };
  }
}

/** The longest time for an answer of the program that uses a port, ms. */
const ANSWER_MS = 2_000;
/** The answer of a server is much smaller. */
const ANSWER_BYTES = 65_536;

/** Whether a Signalbox server answers at a port: only Signalbox reports the revision of a policy. */
async function isSignalbox(host: string, port: number): Promise<boolean> {
  const here = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host;
  try {
    const { text } = await outbound({
      url: `${urlOf(here, port)}/readyz`,
      method: 'GET',
      allowPrivate: true,
      timeoutMs: ANSWER_MS,
      bytesMax: ANSWER_BYTES,
    });
    const body: unknown = JSON.parse(text);
    return isObject(body) && typeof body.policy_revision === 'string';
  } catch {
    return false;
  }
}

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Makes the error that says why a port cannot be opened, and names the flag that sets the port. */
export async function listenError(host: string, port: number, cause: unknown, flag = '--port'): Promise<UsageError> {
  const reason = (await reasonOf(cause, host)).replace('--port', flag);
  return new UsageError(`Cannot listen on ${host}:${port}: ${reason}.`);
}

async function reasonOf(cause: unknown, host: string): Promise<string> {
  // For a name or address that cannot be resolved, Bun reports the code of an earlier failure, so `listenError` repeats the lookup.
  if ((await lookup(host).catch(() => null)) === null) return 'this address does not exist; choose another with --host';
  const code = codeOf(cause);
  return REASONS.get(code) ?? messageOf(cause);
}
