import { UsageError } from '../cli/options.ts';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; choose another with --port'],
  ['EACCES', 'permission denied; choose a port above 1023 with --port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; choose another with --host'],
  // What Bun says of a name or an address that it cannot resolve.
  ['ENOENT', 'there is no such address; choose another with --host'],
]);

interface Server {
  listen(options: { port: number; hostname: string; reusePort: boolean; maxRequestBodySize: number }): unknown;
  readonly server: { readonly port?: number | undefined } | null;
}

/** Takes the port. Returns the address; throws UsageError when that cannot be. */
export function listen(app: Server, port: number, host: string): string {
  try {
    // Sharing the port would let two servers start on it, each with some of the requests.
    app.listen({ port, hostname: host, reusePort: false, maxRequestBodySize: Number.MAX_SAFE_INTEGER });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const reason = REASONS.get(code) ?? (cause instanceof Error ? cause.message : String(cause));
    throw new UsageError(`Cannot listen on ${host}:${port}: ${reason}.`);
  }
  const shown = host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${app.server?.port ?? port}`;
}
