import { instancesBehind, type ReportSource } from '../../store/instance-reports.ts';
import type { TrailTable } from '../../store/trail.ts';

/** How long a command waits until running servers have applied its change, ms. */
const SERVER_WAIT_MS = 5_000;
const POLL_EVERY_MS = 20;

/** The warning of a command if servers have not applied its change in time. @param names of these servers; empty if unknown */
export function notServed(names: readonly string[] = []): string {
  const who = names.length === 0 ? 'The server' : `The server ${names.join(', ')}`;
  return `${who} has not applied the change after ${SERVER_WAIT_MS / 1000} seconds. It will do so as soon as it can.`;
}

/** A store whose audit trail tells servers what has changed. */
type FollowedStore = ReportSource & { readonly trail: Pick<TrailTable, 'list'> };

/**
 * Makes a change, and waits until every server of the store has applied it. Does not wait if the change wrote nothing.
 * @param isServed resolves with whether a server uses the store
 * @returns the result of the change, and the names of servers that have not applied it after 5 seconds
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

/** Kinds of subjects whose changes servers do not learn from the audit trail. */
const UNFOLLOWED: ReadonlySet<string> = new Set(['trail', 'learning', 'model', 'payment', 'policy', 'policy_files']);

/**
 * The ID of the last change, if servers learn of it from the audit trail; otherwise 0. The number is also 0 if the store cannot be read,
 * because the change itself reports that error.
 */
async function lastFollowedChange({ trail }: FollowedStore): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 }).catch(() => []);
  return last && !UNFOLLOWED.has(last.subject.kind) ? last.id : 0;
}

/**
 * Waits until the servers of a store have applied a change, for at most 5 seconds.
 * @param isServed resolves with whether a server uses the store; without a server, this does not wait
 * @param isInForce whether the servers have applied the change
 * @returns false if a server has not applied the change
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
