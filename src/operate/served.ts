/** How long a command waits for a running server to take over its change, ms. */
const SERVER_WAIT_MS = 5_000;
const POLL_EVERY_MS = 20;

/** The note of a command whose wait was in vain. */
export const NOT_SERVED = `The server that uses this data folder has not read it after ${SERVER_WAIT_MS / 1000} seconds. It does so as soon as it can.`;

/**
 * Waits until the server of a data folder has a change in force, at most 5 seconds.
 * @param isServed resolves with whether a server holds the folder; without one nothing is waited for.
 * @param isInForce whether the server has the change.
 * @returns false when a server still lacks the change.
 */
export async function servedChange(
  isServed: () => Promise<boolean>,
  isInForce: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const end = performance.now() + SERVER_WAIT_MS;
  while (await isServed()) {
    if (await isInForce()) return true;
    if (performance.now() > end) return false;
    await Bun.sleep(POLL_EVERY_MS);
  }
  return true;
}
