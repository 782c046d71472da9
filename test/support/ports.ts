/**
 * Returns a port on which no process listens. The system gives sockets with port 0 only ports from 32,768, so it never gives this port to
 * another test, neither before its user listens nor while the port is meant to stay closed.
 */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      void Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // Another process listens on this port.
    }
  }
}
