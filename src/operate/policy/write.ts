import { basename } from 'node:path';
import { type Caller, roleOf } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import { buildCandidate, isRejected, type PolicyCandidate } from '../../runtime/candidate.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import type { ReloadAttempt } from '../../runtime/status.ts';
import { checkWritable, type FileEdit, UnwritablePolicy, writeEdit } from '../../runtime/write-edit.ts';
import type { OpenStore } from '../../store/driver.ts';
import type { Actor, TrailDetails } from '../../store/trail.ts';
import { hasSecret, mask } from '../../telemetry/secrets.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { changedBundle, type FileChange, namedBundle } from './bundles.ts';
import { orRefused, type PolicyDesk } from './desk.ts';
import { type GuardedChange, guardedChanges } from './guarded.ts';
import { filesOnDisk, framed, outlineOf, patchOf } from './served-check.ts';
import type { JudgeTools } from './tools.ts';

/** The desk of a server whose policy can be written. */
export interface WritableDesk extends PolicyDesk {
  /** Whether the server was started to take guarded edits of owners. */
  readonly allowsGuarded: boolean;
  /** Puts the files on disk in force now. */
  reload(by: Actor): Promise<ReloadAttempt>;
  readonly store: Pick<OpenStore, 'commit' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** An edit that is in force. */
export interface WrittenPolicy {
  readonly previous: string;
  readonly files: readonly { readonly name: string; readonly change: 'added' | 'removed' | 'changed' }[];
  readonly guarded: readonly GuardedChange[];
  readonly reload: ReloadAttempt;
}

const PATCH = 'Take it as a patch (POST /admin/policy/patch) and apply it where the files are kept.';

/** Characters of the difference that the trail keeps. */
const TRAIL_PATCH_MAX = 32_768;

/**
 * Writes an edit of the policy's files as one, and puts it in force: after the check and the policy's own cases, which refuse it whole.
 * A guarded edit needs an owner, and a server that was started for it.
 * @param expected the revision that the edit began from
 * @throws SignalboxError; nothing was written then
 */
export async function writePolicyFiles(
  by: Principal,
  desk: WritableDesk,
  changes: readonly FileChange[],
  expected: string | null,
): Promise<WrittenPolicy> {
  checkAction(by.caller, 'policy.write');
  if (expected === null) {
    const message = 'State the revision that the edit began from: If-Match: <revision>.';
    throw new SignalboxError('missing_field', message, { param: 'If-Match' });
  }
  return await desk.turns.take(by.caller.keyId, (isStale) =>
    desk.turns.alone(() =>
      orRefused(async () => {
        const edit = await plannedEdit(by, desk, changes, expected);
        const after = await judged(namedBundle(edit.after), { ...desk.judge, isStale }, desk);
        return await put(by, desk, edit, after);
      }),
    ),
  );
}

/** An edit that may be written, and is not checked yet. */
interface PlannedEdit {
  readonly before: PolicyBundle;
  readonly after: PolicyBundle;
  readonly edits: readonly FileEdit[];
  readonly guarded: readonly GuardedChange[];
}

async function plannedEdit(
  by: Principal,
  desk: WritableDesk,
  changes: readonly FileChange[],
  expected: string,
): Promise<PlannedEdit> {
  const inForce = desk.inForce();
  const { revision } = inForce.runtime.snapshot;
  if (expected !== revision) {
    const message = `The revision in force is ${revision}. If-Match names another one, so nothing was written.`;
    throw new SignalboxError('precondition_failed', message, {
      details: { policy_revision: revision },
      headers: { etag: `"${revision}"` },
    });
  }
  const before = await filesOnDisk(desk);
  if (before.hash !== inForce.bundle.hash) {
    const message =
      'The files on disk are not those in force, as after an edit that was refused. Mend or take back that edit first.';
    throw new SignalboxError('conflict', message);
  }
  const after = changedBundle(before, changes);
  const edits = editsOf(before, after);
  if (edits.length === 0) throw new SignalboxError('invalid_value', 'The edit changes nothing.', { param: 'changes' });
  await checkWritable(desk.folder, edits).catch(refuseUnwritable);
  const guarded = guardedChanges(await outlineOf(before, desk.judge), await outlineOf(after, desk.judge));
  checkGuarded(by, desk, guarded);
  return { before, after, edits, guarded };
}

function editsOf(before: PolicyBundle, after: PolicyBundle): FileEdit[] {
  const [from, to] = [textsOf(before), textsOf(after)];
  const names = [...new Set([...from.keys(), ...to.keys()])].sort();
  const edits = names.flatMap((name) => {
    const [old = null, text = null] = [from.get(name), to.get(name)];
    return old === text ? [] : [{ name, before: old, after: text }];
  });
  const masked = edits.find(({ before: old }) => old !== null && hasSecret(old));
  if (masked) {
    const message = `\`${masked.name}\` has a text that looks like a secret, which nobody is shown here. Take it out of the file where the files are kept.`;
    throw new SignalboxError('conflict', message);
  }
  return edits;
}

const textsOf = ({ files }: PolicyBundle) => new Map(files.map(({ path, text = '' }) => [basename(path), text]));

function checkGuarded({ caller }: Principal, { allowsGuarded }: WritableDesk, guarded: readonly GuardedChange[]): void {
  if (guarded.length === 0 || (allowsGuarded && roleOf(caller) === 'owner')) return;
  const places = guarded.map(({ section, name, key }) => [section, name, key].filter((one) => one !== null).join('.'));
  const who = allowsGuarded
    ? 'only an owner may write it here'
    : 'this server takes it from nobody: it was started without --allow-policy-writes';
  const listed = places
    .slice(0, 5)
    .map((place) => `\`${place}\``)
    .join(', ');
  throw new SignalboxError('insufficient_permissions', `The edit is guarded for ${listed}, and ${who}. ${PATCH}`, {
    details: { guarded },
  });
}

/** Checks the edited policy as a reload would. @throws SignalboxError `policy_invalid` */
async function judged(
  after: PolicyBundle,
  judge: JudgeTools,
  { folder, inForce }: WritableDesk,
): Promise<PolicyCandidate> {
  const result = await buildCandidate(after, { ...judge, folder }, { inForce: inForce() });
  if (!isRejected(result)) return result;
  const errors = result.problems.filter(({ severity }) => severity === 'error').length;
  const message =
    result.message ?? `The edited policy has ${errors} error${errors === 1 ? '' : 's'}, so nothing was written.`;
  const details = { policy_revision: inForce().runtime.snapshot.revision, diagnostics: framed(result.problems, after) };
  throw new SignalboxError('policy_invalid', message, { details });
}

/** Notes the edit in the trail, writes it, and puts it in force; takes it back where that fails. */
async function put(
  by: Principal,
  desk: WritableDesk,
  edit: PlannedEdit,
  candidate: PolicyCandidate,
): Promise<WrittenPolicy> {
  const { before, after, edits, guarded } = edit;
  const previous = desk.inForce().runtime.snapshot.revision;
  const { revision } = candidate.runtime.snapshot;
  const files = edits.map(({ name, before: old, after: text }) => {
    return {
      name,
      change: old === null ? ('added' as const) : text === null ? ('removed' as const) : ('changed' as const),
    };
  });
  const patch = patchOf(before, after);
  const note = (more: TrailDetails) =>
    noted(by, desk, revision, { before: { revision: previous }, after: { revision }, ...more });
  await note({ files, guarded, patch: patch.slice(0, TRAIL_PATCH_MAX), is_cut: patch.length > TRAIL_PATCH_MAX });
  try {
    if ((await filesOnDisk(desk)).hash !== before.hash) {
      throw new SignalboxError('conflict', 'The files on disk changed meanwhile, so nothing was written.');
    }
    await writeEdit(desk.folder, edits).catch(refuseUnwritable);
  } catch (cause) {
    await note({ undone: true });
    throw cause;
  }
  const reload = await desk.reload(by.actor);
  if (reload.result !== 'refused') return { previous, files, guarded, reload };
  await writeEdit(
    desk.folder,
    edits.map(({ name, before: old, after: text }) => ({ name, before: text, after: old })),
  );
  await note({ undone: true });
  const details = { policy_revision: previous, diagnostics: reload.diagnostics };
  throw new SignalboxError('policy_invalid', `${reload.message} The files are as they were.`, { details });
}

const noted = ({ actor }: Principal, { store, now }: WritableDesk, revision: string, details: TrailDetails) =>
  store.commit([
    store.trail.add({ time: now(), actor, action: 'change', subject: { kind: 'policy_files', id: revision }, details }),
  ]);

function refuseUnwritable(cause: unknown): never {
  if (!(cause instanceof UnwritablePolicy)) throw cause;
  throw new SignalboxError('conflict', `Nothing was written: ${cause.message}. ${PATCH}`, { cause });
}

/** The same edit as a patch for `git apply`, with secrets masked. */
export async function policyPatch(by: Principal, desk: PolicyDesk, changes: readonly FileChange[]): Promise<string> {
  checkAction(by.caller, 'policy.check');
  const before = await filesOnDisk(desk);
  return patchOf(before, changedBundle(before, changes));
}

/** What a principal may write here; `refused` says why not. */
export async function writableBy(caller: Caller, desk: WritableDesk) {
  const role = roleOf(caller);
  const mayWrite = role === 'owner' || role === 'admin';
  const { files } = desk.inForce().bundle;
  const refused = mayWrite
    ? await checkWritable(
        desk.folder,
        files.map(({ path }) => ({ name: basename(path) })),
      ).then(
        () => null,
        (cause) => (cause instanceof UnwritablePolicy ? cause.message : refuseUnwritable(cause)),
      )
    : `the role \`${role}\` reads the policy and does not write it`;
  return { ordinary: refused === null, guarded: refused === null && role === 'owner' && desk.allowsGuarded, refused };
}

/** A text as everybody may see it. */
export const shownText = (text: string) => ({ text: mask(text), is_masked: hasSecret(text) });
