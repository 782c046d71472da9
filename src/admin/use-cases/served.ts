import { instancesBehind, type ReportSource } from '../../store/instance-reports.ts';
import type { TrailTable } from '../../store/trail.ts';

/** How long a command waits for running servers to take over its change, ms. */
const SERVER_WAIT_MS = 5_000;
const POLL_EVERY_MS = 20;

/** The note of a command whose wait was in vain. @param names servers that do not have its change; none where they are not known */
export function notServed(names: readonly string[] = []): string {
  const who = names.length === 0 ? 'The server' : `The server ${names.join(', ')}`;
  return `${who} has not read it after ${SERVER_WAIT_MS / 1000} seconds. It does so as soon as it can.`;
}

/** A store that servers follow by its trail. */
type FollowedStore = ReportSource & { readonly trail: Pick<TrailTable, 'list'> };

/**
 * Makes a change, and waits until every server of the store has followed it. A change that writes nothing waits for nothing.
 * @param isServed resolves with whether a server uses the store
 * @returns the result of the change, and the names of the servers that have not followed it after 5 seconds
 */
export async function followed<Result>(
  store: FollowedStore,
  isServed: () => Promise<boolean>,
  change: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly behind: readonly string[] }> {
  const before = await lastFollowedChange(store);
  const result = await change();
  const last = await lastFollowedChange(store);
  let behind: readonly string[] = [];
  const isInForce = async () => {
    behind = await instancesBehind(store, last);
    return behind.length === 0;
  };
  const isFollowed = last <= before || (await servedChange(isServed, isInForce));
  return { result, behind: isFollowed ? [] : behind };
}

/** Kinds of subjects whose changes servers do not follow by the trail. */
const UNFOLLOWED: ReadonlySet<string> = new Set(['trail', 'learning', 'model', 'payment', 'policy', 'policy_files']);

/** The ID of the last change if servers follow it; else 0, also where the store cannot be read: the change itself then reports that. */
async function lastFollowedChange({ trail }: FollowedStore): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 }).catch(() => []);
  return last && !UNFOLLOWED.has(last.subject.kind) ? last.id : 0;
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
