import type { Revision } from '../../../core/revision.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { firstError } from '../../../policy/diagnostics.ts';
import {
  buildCandidate,
  compileCandidate,
  isRejected,
  type PolicyCandidate,
} from '../../../policy/runtime/candidate.ts';
import { pushedBundle } from '../../../policy/runtime/pushed.ts';
import type { PolicyBundle } from '../../../policy/runtime/source.ts';
import type { OpenStore } from '../../../store/driver.ts';
import { liveInstances } from '../../../store/instance-reports.ts';
import type { PushedPolicy } from '../../../store/pushed-policies.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { namedBundle, outlineOf, patchOf } from './bundles.ts';
import { revisionSource } from './desk.ts';
import { buildSide, differenceBody, differenceOf, type PolicyDifference } from './diff.ts';
import { guardedChanges } from './guarded.ts';
import { formerPush } from './history.ts';
import { followers, lagging, type PushTarget, push } from './push.ts';
import { generous, type JudgeTools, type PolicySource, readPolicy, toolsFor } from './tools.ts';
import { changeOf, editNotes, editsOf } from './write.ts';

/** The store of servers, as a command pushes to it. */
export interface PushDesk extends PushTarget {
  readonly store: PushTarget['store'] & Pick<OpenStore, 'trail' | 'records'>;
  readonly judge: JudgeTools;
  /** Shows how the policy differs from the active one, before anything is stored. Not called if no policy is active. */
  show(difference: PolicyDifference): Promise<void>;
}

/** A revision that was pushed, as the command prints it. */
export type PushedRevision = Awaited<ReturnType<typeof pushRevision>>;

/**
 * Pushes the policy of a folder, or the files of an earlier push again, once it passes the check and its own cases as if every variable
 * were set. Shows first how it differs from the active policy.
 * @param folder of the policy, or of relative plugins
 * @param what the active revision that the policy began from, or its number, null only before the first push; or the number of an
 * earlier push, or at least 6 of the first digits of its revision
 * @throws UsageError, SignalboxError; nothing was stored then
 */
export async function pushRevision(
  by: Principal,
  desk: PushDesk,
  folder: string,
  what: { readonly from: string | null } | { readonly revision: string },
) {
  checkAction(by.caller, 'policy.write');
  const { judge, store } = desk;
  const former = 'revision' in what ? await formerPush(what.revision, store) : null;
  const after = namedBundle(former ? pushedBundle(former) : await readPolicy(folder));
  const head = await store.pushedPolicies.head();
  const before = head ? pushedBundle(head) : { files: [], hash: '' };
  const edits = editsOf(before, after);
  if (edits.length === 0) throw await nothingToPush(head, desk);
  const served = await servedRevision(desk);
  const candidate = await judged(after, folder, judge, served ? servedEnvironment(served, judge) : judge.env);
  const active = activePolicy(head, served, desk, folder);
  const label = former ? `push ${former.id}` : folder;
  const next: PolicySource = { label, kind: 'folder', bundle: after, folder, loader: judge.loader };
  const difference =
    active && (await differenceOf(await buildSide(active, judge), await buildSide(next, judge), undefined));
  if (difference) await desk.show(difference);
  if (head && 'from' in what) await checkFrom(head, what.from, desk);
  const guarded = guardedChanges(await outlineOf(active?.bundle ?? before, judge), await outlineOf(after, judge));
  const previous = head?.revision ?? null;
  const { revision } = candidate.runtime.snapshot;
  const patch = await patchOf(before, after);
  const notes = editNotes(by.actor, desk, { patch, edits, guarded, previous, revision });
  const stored = await push({ before, after, edits, candidate }, notes, desk);
  const others = (await desk.isServed()) ? await liveInstances(store) : [];
  const followingFiles = others.filter(({ follows }) => follows === 'files').map(({ name }) => name);
  // How it differs from the policy that was active before; null if none was.
  const body = difference && (await differenceBody(difference));
  return {
    object: 'policy.write',
    ...{ id: stored.id, revision: stored.revision, previous },
    ...{ files: edits.map(changeOf), guarded, difference: body },
    // The names of servers where it is not active yet, and of servers that follow their files.
    ...{ lagging: await lagging(desk), following_files: followingFiles },
    is_followed: others.length > followingFiles.length,
  };
}

/** A revision has a name at each server, as variables differ. */
async function checkFrom(head: PushedPolicy, from: string | null, { store }: PushDesk): Promise<void> {
  const servers = (await liveInstances(store)).filter(({ pushed }) => pushed === head.id);
  const names = new Set([`${head.id}`, head.revision, ...servers.map(({ revision }) => revision)]);
  if (from !== null && names.has(from)) return;
  const state = `The revision in force is ${head.revision}, push ${head.id}`;
  throw new UsageError(
    from === null
      ? `${state}. State that you began from it: --from ${head.revision}. Nothing was stored.`
      : `${state}, and not ${from}. Nothing was stored.`,
  );
}

/** The error for files that the last push has. They are active only where a server follows pushes. */
async function nothingToPush(head: PushedPolicy | null, { store, isServed }: PushDesk): Promise<UsageError> {
  if (!head) return new UsageError('The folder has no files to push.');
  if ((await followers(store, isServed)).length > 0)
    return new UsageError(`These files are active already, as push ${head.id}.`);
  return new UsageError(
    `These files are stored already, as push ${head.id}. No server follows pushes: start one with --policies-from store to use them.`,
  );
}

/**
 * Judges a policy with every variable set. Servers judge it again, each with its own variables.
 * @param env the variables by which the revision is named, where a server could start with them
 */
async function judged(
  bundle: PolicyBundle,
  folder: string,
  judge: JudgeTools,
  env: JudgeTools['env'],
): Promise<PolicyCandidate> {
  const { here, anywhere } = await toolsFor(folder, bundle, { ...judge, env });
  const result = await buildCandidate(bundle, anywhere);
  if (!isRejected(result)) {
    const named = await compileCandidate(bundle, here);
    return isRejected(named) ? result : named;
  }
  const why = firstError(result.problems) ?? result.message;
  throw new UsageError(`The policy is not valid, so nothing was stored: ${why}`);
}

/** The revision that a running server has active, as its database keeps it; null if no server runs. Rejects with StoreError. */
async function servedRevision({ store, isServed }: PushDesk): Promise<Revision | null> {
  const [server] = (await isServed()) ? await liveInstances(store) : [];
  return server ? await store.records.revisions.find(server.revision) : null;
}

/**
 * The variables of a running server, as far as its database shows them. A revision depends on which variables are set, so that a push gets
 * the name that this server would give the same files, whatever is set for the command.
 */
const servedEnvironment = ({ surroundings }: Revision, { env }: JudgeTools): JudgeTools['env'] => ({
  get: (name) => (surroundings?.unset.includes(name) ? undefined : generous(env).get(name)),
});

/**
 * The policy that is active at the servers: the last push, or before the first push the files of a running server. Null if no server runs.
 * @param folder of relative plugins
 */
function activePolicy(
  head: PushedPolicy | null,
  served: Revision | null,
  { judge }: PushDesk,
  folder: string,
): PolicySource | null {
  if (!head) return served && revisionSource(served, folder, judge);
  // The code of its plugins is compared where servers load them.
  const { files, hash } = pushedBundle(head);
  return { label: `push ${head.id}`, kind: 'revision', bundle: { files, hash }, folder, loader: judge.loader };
}
