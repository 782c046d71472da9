/** Names and addresses of this machine, as `URL` gives them. */
const THIS_MACHINE = /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Time to accept a connection on one machine, ms. */
const WAIT_MS = 250;

/**
 * Whether anything listens at an address of this machine. Connects and sends nothing.
 * @returns null for an address elsewhere, which is not tried
 */
export async function listensHere(baseUrl: string): Promise<boolean | null> {
  const { hostname, port, protocol } = new URL(baseUrl);
  if (!THIS_MACHINE.test(hostname)) return null;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), WAIT_MS);
  Bun.connect({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    socket: {
      open(socket) {
        socket.end();
        resolve(true);
      },
      data() {},
    },
  }).catch(() => resolve(false));
  const listens = await promise;
  clearTimeout(timer);
  return listens;
}
