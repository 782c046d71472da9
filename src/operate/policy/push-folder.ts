import { UsageError } from '../../core/usage-error.ts';
import { buildCandidate, isRejected, type PolicyCandidate } from '../../runtime/candidate.ts';
import { pushedBundle } from '../../runtime/pushed.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import type { OpenStore } from '../../store/driver.ts';
import { liveInstances } from '../../store/instance-reports.ts';
import type { PushedPolicy } from '../../store/pushed-policies.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { activePolicy } from './active-policy.ts';
import { namedBundle } from './bundles.ts';
import { differenceOf, type PolicyDifference } from './diff.ts';
import { buildSide } from './diff-side.ts';
import { type GuardedChange, guardedChanges } from './guarded.ts';
import { followers, lagging, type PushTarget, push } from './push.ts';
import { formerPush } from './pushed.ts';
import { outlineOf, patchOf } from './served-check.ts';
import { generous, type JudgeTools, type PolicySource, readPolicy } from './tools.ts';
import { editNotes, editsOf } from './write.ts';

/** The store of servers, as a command pushes to it. */
export interface PushDesk extends PushTarget {
  readonly store: PushTarget['store'] & Pick<OpenStore, 'trail' | 'records'>;
  readonly judge: JudgeTools;
  /** Shows how the policy differs from the active one, before anything is stored. Not called if no policy is active. */
  show(difference: PolicyDifference): Promise<void>;
}

/** A revision that is in force at the servers that follow pushes. */
export interface PushedRevision {
  readonly push: PushedPolicy;
  /** The revision before it; null for the first. */
  readonly previous: string | null;
  readonly guarded: readonly GuardedChange[];
  /** How it differs from the policy that was active before; null if none was. */
  readonly difference: PolicyDifference | null;
  /** The names of servers that do not have it in force yet. */
  readonly lagging: readonly string[];
  /** The names of servers that follow their files, and never will. */
  readonly followingFiles: readonly string[];
  /** Whether any server follows pushes now. */
  readonly isFollowed: boolean;
}

/**
 * Pushes the policy of a folder, once it passes the check and its own cases as if every variable were set. Shows first how it differs from
 * the active policy.
 * @param from the revision in force that it began from, or its number; null only before the first push
 * @throws UsageError, SignalboxError; nothing was stored then
 */
export async function pushFolder(
  by: Principal,
  desk: PushDesk,
  folder: string,
  from: string | null,
): Promise<PushedRevision> {
  checkAction(by.caller, 'policy.write');
  const head = await desk.store.pushedPolicies.head();
  const after = { label: folder, bundle: namedBundle(await readPolicy(folder)) };
  return await pushed(by, desk, head, folder, after, async () => {
    if (head) await checkFrom(head, from, desk);
  });
}

/**
 * Pushes the files of an earlier push again.
 * @param name its number, or at least 6 of the first digits of its revision
 * @param folder of relative plugins
 * @throws UsageError, SignalboxError; nothing was stored then
 */
export async function rollBackTo(by: Principal, desk: PushDesk, folder: string, name: string): Promise<PushedRevision> {
  checkAction(by.caller, 'policy.write');
  const { pushedPolicies } = desk.store;
  const former = await formerPush(name, desk.store);
  const after = { label: `push ${former.id}`, bundle: namedBundle(pushedBundle(former)) };
  return await pushed(by, desk, await pushedPolicies.head(), folder, after);
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

async function pushed(
  by: Principal,
  desk: PushDesk,
  head: PushedPolicy | null,
  folder: string,
  { label, bundle: after }: Pick<PolicySource, 'label' | 'bundle'>,
  checkStart: () => Promise<void> = async () => {},
): Promise<PushedRevision> {
  const { judge, store } = desk;
  const before = head ? pushedBundle(head) : { files: [], hash: '' };
  const edits = editsOf(before, after);
  if (edits.length === 0) throw await nothingToPush(head, desk);
  const candidate = await judged(after, folder, judge);
  const active = await activePolicy(head, desk, folder);
  const next: PolicySource = { label, kind: 'folder', bundle: after, folder, loader: judge.loader };
  const difference =
    active && (await differenceOf(await buildSide(active, judge), await buildSide(next, judge), undefined));
  if (difference) await desk.show(difference);
  await checkStart();
  const guarded = guardedChanges(await outlineOf(active?.bundle ?? before, judge), await outlineOf(after, judge));
  const previous = head?.revision ?? null;
  const { revision } = candidate.runtime.snapshot;
  const patch = await patchOf(before, after, () => false);
  const notes = editNotes(by.actor, desk, { patch, edits, guarded, previous, revision });
  const stored = await push({ before, after, edits, candidate }, notes, desk);
  const others = (await desk.isServed()) ? await liveInstances(store) : [];
  const followingFiles = others.filter(({ follows }) => follows === 'files').map(({ name }) => name);
  const isFollowed = others.length > followingFiles.length;
  return { push: stored, previous, guarded, difference, lagging: await lagging(desk), followingFiles, isFollowed };
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

/** Servers judge it again, each with the variables that are set there. */
async function judged(bundle: PolicyBundle, folder: string, judge: JudgeTools): Promise<PolicyCandidate> {
  const result = await buildCandidate(bundle, { ...judge, folder, env: generous(judge.env) });
  if (!isRejected(result)) return result;
  const [first] = result.problems.filter(({ severity }) => severity === 'error');
  const why = first ? `${first.file}:${first.line}:${first.column} ${first.code}: ${first.message}` : result.message;
  throw new UsageError(`The policy is not valid, so nothing was stored: ${why}`);
}
