import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { BEHIND_HEADER, FROM_HEADER, NAME_HEADER, SOCKET_NAME } from '../admin/use-cases/operator-socket.ts';
import { errorBody } from '../core/api/error.ts';
import { SignalboxError } from '../core/errors.ts';
import { orElse } from '../core/thrown.ts';
import type { Actor } from '../store/trail.ts';
import { pathOf } from './route-table.ts';

/** Bytes of a path that every system accepts for a socket. */
const PATH_BYTES_MAX = 103;

/** Who sent a request over the socket. The key of a request is an object of this process, so no header can claim it. State: operator socket. */
const actors = new WeakMap<Request, Actor>();

/** The operator who sent a request over the socket of the data folder; null for a request that came over the network. */
export const operatorOf = (request: Request): Actor | null => actors.get(request) ?? null;

/**
 * Serves `/admin/…` to commands on this machine, through a Unix socket in the data folder. Only the user of the server can open it: who
 * can, could also write the database.
 * @param handle answers a request as the server does
 * @param behindOf waits until every server that shares the store has followed the latest change, and returns the names of servers that
 *   have not after the longest wait of a command
 * @returns how to stop; null where the path of the folder is too long for a socket
 */
export function openOperatorSocket(
  home: string,
  handle: (request: Request) => Promise<Response>,
  behindOf: () => Promise<readonly string[]>,
): (() => void) | null {
  const path = join(home, SOCKET_NAME);
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return null;
  // One server at a time has the folder, so a socket that is there belongs to a server that was killed.
  rmSync(path, { force: true });
  const before = process.umask(0o177);
  try {
    const server = Bun.serve({ unix: path, fetch: (request) => answer(request, handle, behindOf) });
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

async function answer(
  request: Request,
  handle: (request: Request) => Promise<Response>,
  behindOf: () => Promise<readonly string[]>,
): Promise<Response> {
  const path = pathOf(request.url);
  if (!path.startsWith('/admin/') && path !== '/healthz') {
    const error = new SignalboxError('not_found', 'The socket serves the paths below /admin/ and /healthz.');
    return Response.json(errorBody(error), { status: 404 });
  }
  const { headers } = request;
  actors.set(request, { kind: 'cli', name: textIn(headers, NAME_HEADER) ?? '', from: textIn(headers, FROM_HEADER) });
  const response = await handle(request);
  if (request.method === 'GET' || !response.ok) return response;
  const behind = await behindOf();
  if (behind.length > 0) response.headers.set(BEHIND_HEADER, behind.map(encodeURIComponent).join(','));
  return response;
}

/** A header that is percent-encoded; as it is where it is not. */
function textIn(headers: Headers, name: string): string | null {
  const text = headers.get(name);
  return text && orElse(() => decodeURIComponent(text), text);
}
