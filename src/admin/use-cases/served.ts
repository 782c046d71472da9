import { instancesBehind, type ReportSource } from '../../store/instance-reports.ts';

/** How long a command waits for running servers to take over its change, ms. */
const SERVER_WAIT_MS = 5_000;
const POLL_EVERY_MS = 20;

/** The note of a command whose wait was in vain. @param names servers that do not have its change; none where they are not known */
export function notServed(names: readonly string[] = []): string {
  const who = names.length === 0 ? 'The server' : `The server ${names.join(', ')}`;
  return `${who} has not read it after ${SERVER_WAIT_MS / 1000} seconds. It does so as soon as it can.`;
}

/**
 * Waits until every server of a store has followed a change.
 * @param change as the trail numbers it
 * @returns the names of the servers that have not followed it after 5 seconds; none where all have, or where no server uses the store
 */
export async function serversBehind(
  store: ReportSource,
  change: number,
  isServed: () => Promise<boolean>,
): Promise<readonly string[]> {
  let behind: readonly string[] = [];
  const isInForce = async () => {
    behind = await instancesBehind(store, change);
    return behind.length === 0;
  };
  return (await servedChange(isServed, isInForce)) ? [] : behind;
}

/**
 * Waits until the servers of a store have a change in force, at most 5 seconds.
 * @param isServed resolves with whether a server uses the store; without one nothing is waited for.
 * @param isInForce whether they have the change.
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
