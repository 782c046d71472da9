/**
 * A port on which nobody listens. The system never gives it to a socket that asks for port 0: such ports begin at
 * 32,768. So another test cannot get it before its user does, nor while nobody shall answer there.
 */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      void Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // Somebody listens there.
    }
  }
}
