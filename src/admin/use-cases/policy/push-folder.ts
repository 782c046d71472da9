import type { Revision } from '../../../core/text/revision.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { firstError } from '../../../policy/report/diagnostics.ts';
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

/** The store and servers to which a command pushes. */
export interface PushDesk extends PushTarget {
  readonly store: PushTarget['store'] & Pick<OpenStore, 'trail' | 'records'>;
  readonly judge: JudgeTools;
  /** Shows how the policy differs from the active policy, before anything is stored. The function is not called if no policy is active. */
  show(difference: PolicyDifference): Promise<void>;
}

/** A pushed revision, as the command prints it. */
export type PushedRevision = Awaited<ReturnType<typeof pushRevision>>;

/**
 * Pushes the policy of a folder, or the files of an earlier push. First checks the policy and runs its cases as if every variable were set,
 * and shows how the policy differs from the active policy.
 * @param folder of the policy, or of plugins with relative paths
 * @param what the active revision on which the edit is based, or its number; null only before the first push. Or an earlier push: its
 * number, or at least the first 6 digits of its revision
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
  // The difference from the policy that was active before; null if no policy was active.
  const body = difference && (await differenceBody(difference));
  return {
    object: 'policy.write',
    id: stored.id,
    revision: stored.revision,
    previous,
    files: edits.map(changeOf),
    guarded,
    difference: body,
    // The names of servers on which the revision is not active yet, and of servers that use their files.
    lagging: await lagging(desk),
    following_files: followingFiles,
    is_followed: others.length > followingFiles.length,
  };
}

/** The name of a revision depends on variables, so the same push may have different names on different servers. */
async function checkFrom(head: PushedPolicy, from: string | null, { store }: PushDesk): Promise<void> {
  const servers = (await liveInstances(store)).filter(({ pushed }) => pushed === head.id);
  const names = new Set([`${head.id}`, head.revision, ...servers.map(({ revision }) => revision)]);
  if (from !== null && names.has(from)) return;
  const state = `The active revision is ${head.revision}, push ${head.id}`;
  throw new UsageError(
    from === null
      ? `${state}. Nothing was stored. To confirm that your edit is based on it, add --from ${head.revision}.`
      : `${state}, not ${from}. Nothing was stored. Apply your edit to the active revision, and push again.`,
  );
}

/** The error if the last push already has the same files. Files are active only if a server follows pushes. */
async function nothingToPush(head: PushedPolicy | null, { store, isServed }: PushDesk): Promise<UsageError> {
  if (!head) return new UsageError('The folder has no policy files to push.');
  if ((await followers(store, isServed)).length > 0)
    return new UsageError(`These files are already active, as push ${head.id}.`);
  return new UsageError(
    `These files are already stored, as push ${head.id}. No running server follows pushes. To use them, start a server with --policies-from store.`,
  );
}

/**
 * Checks a policy with every variable set. Each server checks the pushed policy again with its own variables.
 * @param env the variables from which the name of the revision is computed, if a server could start with them
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

/** The active revision of a running server, from its database; null if no server runs. Rejects with StoreError. */
async function servedRevision({ store, isServed }: PushDesk): Promise<Revision | null> {
  const [server] = (await isServed()) ? await liveInstances(store) : [];
  return server ? await store.records.revisions.find(server.revision) : null;
}

/**
 * Which variables of a running server are set, as far as its database shows it. The name of a revision depends on the set variables. The
 * push uses the variables of the server, and therefore gets the name that the server would give the same files.
 */
const servedEnvironment = ({ surroundings }: Revision, { env }: JudgeTools): JudgeTools['env'] => ({
  get: (name) => (surroundings.unset.includes(name) ? undefined : generous(env).get(name)),
});

/**
 * The active policy of the servers: the last push, or before the first push the files of a running server. Returns null if no server runs.
 * @param folder of plugins with relative paths
 */
function activePolicy(
  head: PushedPolicy | null,
  served: Revision | null,
  { judge }: PushDesk,
  folder: string,
): PolicySource | null {
  if (!head) return served && revisionSource(served, folder, judge);
  // Each server compares the code of the plugins itself when it loads them.
  const { files, hash } = pushedBundle(head);
  return { label: `push ${head.id}`, kind: 'revision', bundle: { files, hash }, folder, loader: judge.loader };
}
