import { basename } from 'node:path';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { type Caller, roleOf } from '../../../core/people/caller.ts';
import { plural } from '../../../core/text/text.ts';
import { hasSecret, mask } from '../../../host/telemetry/secrets.ts';
import type { PolicyFile } from '../../../policy/load.ts';
import { diagnosticsBody, errorsIn } from '../../../policy/report/diagnostics.ts';
import { buildCandidate, isRejected, type PolicyCandidate } from '../../../policy/runtime/candidate.ts';
import { pushedBundle } from '../../../policy/runtime/pushed.ts';
import type { PolicyBundle } from '../../../policy/runtime/source.ts';
import type { ReloadAttempt } from '../../../policy/runtime/status.ts';
import { type FileEdit, UnwritablePolicy } from '../../../policy/runtime/write-edit.ts';
import { placeAt } from '../../../policy/yaml/tree.ts';
import type { OpenStore } from '../../../store/driver.ts';
import type { PolicyOrigin } from '../../../store/instance-reports.ts';
import type { Actor, TrailDetails } from '../../../store/trail.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { changedBundle, type FileChange, namedBundle, outlineOf, patchOf, sentBundle } from './bundles.ts';
import { atDesk, filesOnDisk, orRefused, type PolicyDesk } from './desk.ts';
import { type GuardedChange, guardedChanges } from './guarded.ts';
import { formerPush } from './history.ts';
import type { EditNotes } from './home.ts';
import { otherRevision } from './serving.ts';
import type { JudgeTools } from './tools.ts';
import { AT_ONCE_WITH_EDIT_MAX } from './turns.ts';

/** The services to write the policy of a server. */
export interface WritableDesk extends PolicyDesk {
  /** Whether the server was started with the option to accept guarded edits from owners. */
  readonly allowsGuarded: boolean;
  /** Activates the files on disk now. */
  reload(by: Actor): Promise<ReloadAttempt>;
  readonly store: Pick<OpenStore, 'commit' | 'instanceReports' | 'pushedPolicies' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The revisions of which one must be active; null if the request states none. */
type Expected = readonly string[] | null;

/** An edit that is active. */
export interface WrittenPolicy {
  readonly previous: string;
  readonly files: readonly { readonly name: string; readonly change: 'added' | 'removed' | 'changed' }[];
  readonly guarded: readonly GuardedChange[];
  readonly reload: ReloadAttempt;
  /** The names of servers on which the edit is not active yet. */
  readonly lagging: readonly string[];
}

const PATCH = 'Create a patch (POST /admin/policy/patch) and apply it where the files are kept.';

/** The most characters of the difference that the audit trail stores. */
const TRAIL_PATCH_MAX = 32_768;

/**
 * Writes an edit of the policy's files as a whole and activates it. First, the edit must pass the check and the policy's own cases. A
 * guarded edit needs an owner, and a server that was started with the option `--allow-policy-writes`. No edit can turn on `discover`.
 * @throws SignalboxError; nothing was written then
 */
export async function writePolicyFiles(
  by: Principal,
  desk: WritableDesk,
  changes: readonly FileChange[],
  expected: Expected,
): Promise<WrittenPolicy> {
  checkAction(by.caller, 'policy.write');
  return await written(by, desk, (before) => changedBundle(before, changes), expected);
}

/**
 * Pushes complete files, or the files of an earlier push, with the same checks as `writePolicyFiles`. The server must follow pushes.
 * @param revision the number of an earlier push, or at least the first 6 digits of its revision
 * @throws SignalboxError; nothing was stored then
 */
export async function pushPolicy(
  by: Principal,
  desk: WritableDesk,
  {
    files = [],
    revision,
  }: { readonly files?: readonly FileChange[] | undefined; readonly revision?: string | undefined },
  expected: Expected,
): Promise<WrittenPolicy> {
  checkAction(by.caller, 'policy.write');
  if (desk.home.origin !== 'store') {
    const message =
      'This server uses its policy files, because it was started without --policies-from store. Edit the files instead.';
    throw new SignalboxError('conflict', message);
  }
  if (revision === undefined) return await written(by, desk, () => sentBundle({ files }, noFiles), expected);
  const former = namedBundle(pushedBundle(await formerPush(revision, desk.store)));
  return await written(by, desk, () => former, expected ?? [desk.active().runtime.snapshot.revision]);
}

const noFiles = (): PolicyBundle => ({ files: [], hash: '' });

async function written(
  by: Principal,
  desk: WritableDesk,
  edited: (before: PolicyBundle) => PolicyBundle,
  expected: Expected,
): Promise<WrittenPolicy> {
  if (expected === null) {
    const message =
      'The request does not state the revision on which the edit is based. Send it as If-Match: <revision>.';
    throw new SignalboxError('missing_field', message, { param: 'If-Match' });
  }
  return await desk.turns.take(
    by.caller.keyId,
    (isStale) =>
      desk.turns.alone(() =>
        orRefused(async () => {
          const edit = await plannedEdit(by, desk, edited, expected);
          const candidate = await judged(namedBundle(edit.after), { ...desk.judge, isStale }, desk);
          return await put(by, desk, { ...edit, patch: await patchOf(edit.before, edit.after, isStale) }, candidate);
        }),
      ),
    AT_ONCE_WITH_EDIT_MAX,
  );
}

const NOT_ACTIVE: Readonly<Record<PolicyOrigin, string>> = {
  files:
    'The files on disk differ from the active policy, for example after an edit that was refused. First fix or undo that edit.',
  store: 'The last pushed revision is not active on this server. GET /admin/policy says why.',
};

/** An edit that the principal may write, before it is checked. */
interface PlannedEdit {
  readonly before: PolicyBundle;
  readonly after: PolicyBundle;
  readonly edits: readonly FileEdit[];
  readonly guarded: readonly GuardedChange[];
}

async function plannedEdit(
  by: Principal,
  desk: WritableDesk,
  edited: (before: PolicyBundle) => PolicyBundle,
  expected: readonly string[],
): Promise<PlannedEdit> {
  const active = desk.active();
  const { revision } = active.runtime.snapshot;
  if (!expected.includes(revision)) throw otherRevision(revision, 'written');
  const before = await filesOnDisk(desk);
  if (before.hash !== active.bundle.hash) throw new SignalboxError('conflict', NOT_ACTIVE[desk.home.origin]);
  const after = edited(before);
  const edits = editsOf(before, after);
  if (edits.length === 0) refuse('changes', 'The edit changes nothing.');
  await desk.home.check(edits).catch(refuseUnwritable);
  const guarded = guardedChanges(await outlineOf(before, desk.judge), await outlineOf(after, desk.judge));
  await checkDiskOnly(after, guarded, desk);
  checkGuarded(by, desk, guarded);
  return { before, after, edits, guarded };
}

export function editsOf(before: PolicyBundle, after: PolicyBundle): FileEdit[] {
  const [from, to] = [textsOf(before), textsOf(after)];
  const names = [...new Set([...from.keys(), ...to.keys()])].sort();
  const edits = names.flatMap((name) => {
    const [old = null, text = null] = [from.get(name), to.get(name)];
    return old === text ? [] : [{ name, before: old, after: text }];
  });
  const masked = edits.find(({ before: old }) => old !== null && hasSecret(old));
  if (masked) {
    const message = `\`${masked.name}\` has a text that looks like a secret, so this API cannot show or edit the file. Remove the text where the files are kept.`;
    throw new SignalboxError('conflict', message);
  }
  return edits;
}

const textsOf = ({ files }: PolicyBundle) => new Map(files.map(({ path, text = '' }) => [basename(path), text]));

/** No role may make these changes over HTTP. */
async function checkDiskOnly(
  after: PolicyBundle,
  guarded: readonly GuardedChange[],
  { judge, home }: WritableDesk,
): Promise<void> {
  const change = guarded.find(({ by }) => by === 'files');
  if (!change) return;
  const { policy } = await judge.parse(after.files, null);
  const provider = policy.drafts.providers.named.find(({ name }) => name === change.name);
  const at = provider && placeAt(provider.tree, 'discover');
  const where = at ? ` (${basename(at.file)}:${at.line})` : '';
  const message = `The edit turns on \`discover\` of provider \`${change.name}\`${where}. Only the policy files on a server's disk can do that, not an edit over HTTP. ${ON_DISK[home.origin]} To add the provider without its models, state \`discover: "off"\`.`;
  throw new SignalboxError('insufficient_permissions', message, { details: { guarded } });
}

const ON_DISK: Readonly<Record<PolicyOrigin, string>> = {
  files: PATCH,
  store: 'Run `signalbox policy push` with the edited files.',
};

function checkGuarded({ caller }: Principal, { allowsGuarded }: WritableDesk, guarded: readonly GuardedChange[]): void {
  if (guarded.length === 0 || (allowsGuarded && roleOf(caller) === 'owner')) return;
  const places = guarded.map(({ section, name, key }) => [section, name, key].filter((one) => one !== null).join('.'));
  const who = allowsGuarded
    ? 'only an owner may write it here'
    : 'this server accepts no guarded edits, because it was started without --allow-policy-writes';
  const listed = places
    .slice(0, 5)
    .map((place) => `\`${place}\``)
    .join(', ');
  throw new SignalboxError(
    'insufficient_permissions',
    `The edit is guarded because of ${listed}, and ${who}. ${PATCH}`,
    {
      details: { guarded },
    },
  );
}

/** Checks the edited policy as a reload would. @throws SignalboxError `policy_invalid` */
async function judged(
  after: PolicyBundle,
  judge: JudgeTools,
  { folder, active }: WritableDesk,
): Promise<PolicyCandidate> {
  const result = await buildCandidate(after, { ...judge, folder }, { active: active() });
  if (!isRejected(result)) return result;
  const errors = plural(errorsIn(result.problems), 'error');
  const message = result.message ?? `The edited policy has ${errors}, so nothing was written.`;
  const { diagnostics } = diagnosticsBody(result.problems, after.files);
  const details = { policy_revision: active().runtime.snapshot.revision, diagnostics };
  throw new SignalboxError('policy_invalid', message, { details });
}

/** Records the edit in the audit trail, writes it and activates it. If the activation fails, undoes the edit. */
async function put(
  by: Principal,
  desk: WritableDesk,
  edit: PlannedEdit & Pick<NotedEdit, 'patch'>,
  candidate: PolicyCandidate,
): Promise<WrittenPolicy> {
  const { edits, guarded } = edit;
  const previous = desk.active().runtime.snapshot.revision;
  const { revision } = candidate.runtime.snapshot;
  const notes = editNotes(by.actor, desk, { ...edit, previous, revision });
  const takeBack = await desk.home.write({ ...edit, candidate }, notes).catch(refuseUnwritable);
  const reload = await desk.reload(by.actor);
  if (reload.result !== 'refused') {
    return { previous, files: edits.map(changeOf), guarded, reload, lagging: await desk.home.lagging() };
  }
  await takeBack?.();
  const details = { policy_revision: previous, diagnostics: reload.diagnostics };
  const end = takeBack ? 'The files are unchanged.' : 'The revision is active on the other servers.';
  throw new SignalboxError('policy_invalid', `${reload.message} ${end}`, { details });
}

export const changeOf = ({ name, before, after }: FileEdit) => ({
  name,
  change: before === null ? ('added' as const) : after === null ? ('removed' as const) : ('changed' as const),
});

/** An edit as the audit trail records it. */
interface NotedEdit extends Pick<PlannedEdit, 'edits' | 'guarded'> {
  /** The difference of the texts, with secrets masked. */
  readonly patch: string;
  /** The revision that the edit replaced; null for none. */
  readonly previous: string | null;
  readonly revision: string;
}

/** The entries of the audit trail about an edit. */
export function editNotes(
  actor: Actor,
  { store, now }: Pick<WritableDesk, 'store' | 'now'>,
  { patch, edits, guarded, previous, revision }: NotedEdit,
): EditNotes {
  const note = (more: TrailDetails) => {
    const details = { before: { revision: previous }, after: { revision }, ...more };
    return store.trail.add({
      time: now(),
      actor,
      action: 'change',
      subject: { kind: 'policy_files', id: revision },
      details,
    });
  };
  return {
    done: (more) =>
      note({
        files: edits.map(changeOf),
        guarded,
        patch: patch.slice(0, TRAIL_PATCH_MAX),
        is_cut: patch.length > TRAIL_PATCH_MAX,
        ...more,
      }),
    undone: (more) => note({ undone: true, ...more }),
    applied: (name) => {
      const details = { cause: 'push', before: { revision: previous }, after: { revision: name } };
      return store.trail.add({ time: now(), actor, action: 'load', subject: { kind: 'policy', id: name }, details });
    },
  };
}

function refuseUnwritable(cause: unknown): never {
  if (!(cause instanceof UnwritablePolicy)) throw cause;
  throw new SignalboxError('conflict', `Nothing was written: ${cause.message}. ${PATCH}`, { cause });
}

/** Returns an edit as a patch for `git apply`, with secrets masked. @throws SignalboxError */
export async function policyPatch(by: Principal, desk: PolicyDesk, changes: readonly FileChange[]): Promise<string> {
  checkAction(by.caller, 'policy.check');
  return await atDesk(by, desk, async (_, isStale) => {
    const before = await filesOnDisk(desk);
    return await patchOf(before, changedBundle(before, changes), isStale);
  });
}

/** Returns what a principal may write here; `refused` says why not. */
export async function writableBy(caller: Caller, desk: WritableDesk) {
  const role = roleOf(caller);
  const mayWrite = role === 'owner' || role === 'admin';
  const { files } = desk.active().bundle;
  const refused = mayWrite
    ? await desk.home.check(files.map(({ path }) => ({ name: basename(path) }))).then(
        () => null,
        (cause) => (cause instanceof UnwritablePolicy ? cause.message : refuseUnwritable(cause)),
      )
    : `the role \`${role}\` may read the policy but not write it`;
  return { ordinary: refused === null, guarded: refused === null && role === 'owner' && desk.allowsGuarded, refused };
}

/** A file as every reader may see it, with secrets masked. */
export const shownText = ({ path, text = '' }: PolicyFile) => ({
  name: basename(path),
  text: mask(text),
  isMasked: hasSecret(text),
});
