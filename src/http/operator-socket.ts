import { lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BEHIND_HEADER, FROM_HEADER, NAME_HEADER, SOCKET_NAME } from '../admin/use-cases/operator-socket.ts';
import { errorBody } from '../core/api/error.ts';
import { SignalboxError } from '../core/errors.ts';
import { messageOf, orElse } from '../core/thrown.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Actor } from '../store/trail.ts';
import { pathOf } from './kit/route-table.ts';

/** The longest path, in bytes, that every operating system accepts for a socket. */
const PATH_BYTES_MAX = 103;

/** An audit may take minutes, and Bun ends a request after 10 s by default. Its types leave out that Unix sockets have this option, too. */
const NO_IDLE_LIMIT: object = { idleTimeout: 0 };

/**
 * The operators who sent requests over the socket. The map's keys are request objects of this process, so no header can forge an entry.
 * State: operator socket.
 */
const actors = new WeakMap<Request, Actor>();

/** Returns the operator who sent a request over the socket of the data folder; null for a request from the network. */
export const operatorOf = (request: Request): Actor | null => actors.get(request) ?? null;

/** Answers requests of the socket, and waits for servers that share the store. */
interface OperatorDesk {
  /** Answers a request like the server does. */
  handle(request: Request): Promise<Response>;
  /** Makes a change, and waits until every server that shares the store has applied it. See `followed`. */
  follow(change: () => Promise<Response>): Promise<{ readonly result: Response; readonly behind: readonly string[] }>;
}

/**
 * Serves `/admin/…` to commands on this machine through a Unix socket in the data folder. Only the operating-system user of the server can
 * open the socket, and that user could also write the database directly.
 * @returns a function that stops it; null if the folder cannot contain a socket, which is logged. If there is no socket, commands use the
 * database directly.
 */
export function openOperatorSocket(home: string, desk: OperatorDesk, log: Pick<Log, 'warn'>): (() => void) | null {
  const path = join(home, SOCKET_NAME);
  try {
    return openAt(path, desk);
  } catch (cause) {
    log.warn('commands cannot reach this server, so they open its database directly', {
      socket: path,
      problem: messageOf(cause),
    });
    return null;
  }
}

/** @throws Error if the path cannot be a socket */
function openAt(path: string, desk: OperatorDesk): () => void {
  const length = Buffer.byteLength(path);
  if (length > PATH_BYTES_MAX) {
    throw new Error(`the path has ${length} bytes, but a Unix socket takes at most ${PATH_BYTES_MAX}: shorten --data`);
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false) {
    throw new Error('a file or folder of this name is in the way: remove it, and start the server again');
  }
  // Only one server at a time uses the data folder, so an existing socket belongs to a server that was killed.
  rmSync(path, { force: true });
  const before = process.umask(0o177);
  try {
    const server = Bun.serve({ unix: path, ...NO_IDLE_LIMIT, fetch: (request) => answer(request, desk) });
    let isOpen = true;
    return () => {
      if (isOpen) rmSync(path, { force: true });
      isOpen = false;
      void server.stop();
    };
  } finally {
    process.umask(before);
  }
}

async function answer(request: Request, { handle, follow }: OperatorDesk): Promise<Response> {
  const path = pathOf(request.url);
  if (!path.startsWith('/admin/') && path !== '/healthz') {
    const error = new SignalboxError(
      'not_found',
      'There is nothing at this path. The socket serves the paths below /admin/ and /healthz.',
    );
    return Response.json(errorBody(error), { status: 404 });
  }
  const { headers } = request;
  actors.set(request, { kind: 'cli', name: textIn(headers, NAME_HEADER) ?? '', from: textIn(headers, FROM_HEADER) });
  if (request.method === 'GET') return await handle(request);
  const { result, behind } = await follow(() => handle(request));
  if (behind.length > 0) result.headers.set(BEHIND_HEADER, behind.map(encodeURIComponent).join(','));
  return result;
}

/** Decodes a percent-encoded header, or returns it unchanged if it is not encoded. */
function textIn(headers: Headers, name: string): string | null {
  const text = headers.get(name);
  return text && orElse(() => decodeURIComponent(text), text);
}
