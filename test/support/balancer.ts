import { codeOf } from '../../src/core/thrown.ts';

/** A load balancer as people have them: each server in turn that says it is ready; connections that are refused go to the next one. */
export interface Balancer extends Disposable {
  readonly url: string;
  /** The servers from now on, by their addresses. */
  use(servers: readonly string[]): void;
  /** Whether a server is in the turn. */
  isReady(server: string): boolean;
  /** Why requests failed that no server had answered. */
  readonly failures: readonly string[];
}

/** The interval of its looks at `/readyz`, ms. */
const LOOK_MS = 100;

export function startBalancer(): Balancer {
  let servers: readonly string[] = [];
  const ready = new Set<string>();
  const failures: string[] = [];
  let turn = 0;
  const look = async (server: string) => {
    const isReady = await fetch(`${server}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) ready.add(server);
    else ready.delete(server);
  };
  const looking = setInterval(() => void Promise.all(servers.map(look)), LOOK_MS);
  const pass = async (request: Request): Promise<Response> => {
    const body = await request.text();
    const { pathname } = new URL(request.url);
    const { method, headers } = request;
    const first = turn++;
    // A look may be older than the end of a server.
    const targets = servers.filter((one) => ready.has(one));
    for (const at of targets.keys()) {
      try {
        return await fetch(`${targets[(first + at) % targets.length]}${pathname}`, { method, headers, body });
      } catch (error) {
        if (codeOf(error) === 'ECONNREFUSED') continue;
        failures.push(String(error));
        return new Response(null, { status: 502 });
      }
    }
    failures.push(`all of ${targets.length} refused`);
    return new Response(null, { status: 502 });
  };
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: pass });
  return {
    url: `http://127.0.0.1:${server.port}`,
    failures,
    use(next) {
      servers = next;
    },
    isReady: (one) => ready.has(one),
    [Symbol.dispose]() {
      clearInterval(looking);
      void server.stop(true);
    },
  };
}
