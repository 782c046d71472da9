import { codeOf } from '../../src/core/thrown.ts';

/**
 * A load balancer like the usual ones: it sends requests to each ready server in turn. If a server refuses the connection, the request goes
 * to the next server.
 */
export interface Balancer extends Disposable {
  readonly url: string;
  /** Replaces the list of servers, by their addresses. */
  use(servers: readonly string[]): void;
  /** Whether the balancer sends requests to a server. */
  isReady(server: string): boolean;
  /** The reasons of all requests that failed because no server accepted them. */
  readonly failures: readonly string[];
}

/** Interval between polls of `/readyz`, ms. */
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
    // A server may have ended after the latest poll.
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
