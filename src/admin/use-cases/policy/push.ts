import { basename } from 'node:path';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { hasSecret } from '../../../host/telemetry/secrets.ts';
import { pushedBundle } from '../../../policy/runtime/pushed.ts';
import { readBundle } from '../../../policy/runtime/source.ts';
import type { OpenStore } from '../../../store/driver.ts';
import { liveInstances, type ReportSource } from '../../../store/instance-reports.ts';
import type { PushedPolicy } from '../../../store/pushed-policies.ts';
import { isUnmet } from '../../../store/store.ts';
import { namedBundle } from './bundles.ts';
import type { EditNotes, JudgedEdit, PolicyHome } from './home.ts';

/** How long a push waits for all servers to check it, ms. A server that has ended is no longer listed after this time. */
const JUDGED_MS = 30_000;
/** How long to wait for an accepted revision to become active on all servers, ms. */
const IN_FORCE_MS = 10_000;
const POLL_EVERY_MS = 20;
/** After this time, an offer counts as abandoned, because the process that pushed it has ended, ms. */
const STALE_MS = 2 * JUDGED_MS;
/** The most pushed revisions that are kept. */
const KEPT_MAX = 500;

/** The store that revisions are pushed to, with the servers that follow pushes. */
export interface PushTarget {
  readonly store: Pick<OpenStore, 'commit' | 'instanceReports' | 'pushedPolicies'>;
  /** Resolves with true if a server may be running. */
  isServed(): Promise<boolean>;
  /** ms since 1970 */
  readonly now: () => number;
}

/** Returns the servers that follow pushed revisions. */
export const followers = async (store: ReportSource, isServed: PushTarget['isServed']) =>
  (await isServed()) ? (await liveInstances(store)).filter(({ follows }) => follows === 'store') : [];

/** Stores the policy in the store. Before the first push, the policy is in the files of a folder. */
export const storeHome = (folder: string, target: PushTarget): PolicyHome => ({
  origin: 'store',
  async read() {
    const head = await target.store.pushedPolicies.head();
    return head ? pushedBundle(head) : await readBundle(folder);
  },
  check: async () => {},
  async write(edit, notes) {
    await push(edit, notes, target);
    return null;
  },
  lagging: () => lagging(target),
});

/** A server refuses a revision, or has not checked it in time. */
class RefusedPush extends Error {
  override readonly name = 'RefusedPush';
}

/**
 * Stores a revision that was checked here. Every server that follows pushes checks it, too. If one server refuses the revision, no server
 * activates it.
 * @throws SignalboxError `conflict` if another revision was activated or offered, `policy_invalid` if a server refuses
 */
export async function push(edit: JudgedEdit, notes: EditNotes, target: PushTarget): Promise<PushedPolicy> {
  const { store, now } = target;
  const { pushedPolicies: table } = store;
  const secret = edit.after.files.find(({ text = '' }) => hasSecret(text));
  if (secret) {
    const message = `\`${basename(secret.path)}\` has a text that looks like a secret, which the database would store. Remove the text and push again.`;
    refuse('files', message);
  }
  const [last] = await table.list(1);
  const offer = offerOf(edit, (last?.id ?? 0) + 1, now());
  const { id } = offer;
  const expiry = table.expire(now() - STALE_MS, 'The process that pushed it ended before all servers had checked it.');
  await store.commit([expiry, table.offer(offer), notes.done({ pushed: id })]).catch(refuseOvertaken);
  try {
    const revision = (await judgedEverywhere(id, target)) ?? offer.revision;
    await store.commit([table.accept(id, revision), table.forget(id - KEPT_MAX), notes.applied(revision)]);
    return { ...offer, revision, state: 'accepted', reason: null };
  } catch (cause) {
    if (!(cause instanceof RefusedPush)) throw cause;
    await store.commit([table.refuse(id, cause.message), notes.undone({ pushed: id })]);
    throw new SignalboxError('policy_invalid', `${cause.message} The revision is active on no server.`, { cause });
  }
}

/** The stored files have names instead of paths, because paths differ between servers. */
function offerOf({ before, after, candidate: { runtime, surroundings } }: JudgedEdit, id: number, time: number) {
  const source = JSON.stringify(namedBundle(after).files);
  const { revision } = runtime.snapshot;
  return { id, base: before.pushed?.id ?? 0, revision, source, plugins: surroundings.plugins, time };
}

function refuseOvertaken(cause: unknown): never {
  if (!isUnmet(cause)) throw cause;
  const message =
    'Another revision was pushed in the meantime, or servers are still checking one, so nothing was stored. Read the active policy, and push again.';
  throw new SignalboxError('conflict', message, { cause });
}

/** Waits until every server has checked the revision. @returns the name of the revision on the first server; null without servers */
async function judgedEverywhere(id: number, target: PushTarget): Promise<string | null> {
  const until = performance.now() + JUDGED_MS;
  for (;;) {
    const all = await followers(target.store, target.isServed);
    const refusing = all.find(({ judged, refusal }) => judged === id && refusal !== null);
    if (refusing)
      throw new RefusedPush(
        `The server ${refusing.name} refuses the revision: ${refusing.refusal?.replace(/\.?$/, '.')}`,
      );
    const waiting = all.filter(({ judged }) => judged !== id).map(({ name }) => name);
    if (waiting.length === 0) return all[0]?.judgedRevision ?? null;
    if (performance.now() > until) {
      throw new RefusedPush(`${waiting.join(', ')} did not check the revision within ${JUDGED_MS / 1_000} seconds.`);
    }
    await Bun.sleep(POLL_EVERY_MS);
  }
}

/** Waits for a limited time until the last revision is active on all servers. @returns the names of servers on which it is not active */
export async function lagging(target: PushTarget): Promise<readonly string[]> {
  const head = (await target.store.pushedPolicies.list(KEPT_MAX)).find(({ state }) => state === 'accepted');
  const until = performance.now() + IN_FORCE_MS;
  for (;;) {
    const behind = (await followers(target.store, target.isServed)).filter(
      ({ pushed }) => pushed !== (head?.id ?? null),
    );
    if (behind.length === 0 || performance.now() > until) return behind.map(({ name }) => name);
    await Bun.sleep(POLL_EVERY_MS);
  }
}
