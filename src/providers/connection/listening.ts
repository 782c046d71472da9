/** Names and addresses of this machine, as `URL` formats them. */
const THIS_MACHINE = /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The time within which a local server must accept a connection, in ms. */
const WAIT_MS = 250;

/**
 * Returns whether anything listens at an address of this machine. The check connects to the address and sends nothing.
 * @returns null for an address of another machine, which Signalbox does not try
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
