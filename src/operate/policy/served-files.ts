import { basename } from 'node:path';
import { iso } from '../../core/clock.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import type { TrailEntry, TrailTable } from '../../store/trail.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { judgeOfSent, type PolicyDesk, revisionBundle, storedRevision } from './desk.ts';
import { schemaOf } from './schema.ts';
import { filesOnDisk } from './served-check.ts';
import { shownText, type WritableDesk, writableBy } from './write.ts';

/** The files of the policy in force, and what the principal may write of them. */
export async function policyFiles(by: Principal, desk: WritableDesk) {
  checkAction(by.caller, 'policy.read');
  const { bundle, runtime } = desk.inForce();
  const disk = await filesOnDisk(desk).catch(() => null);
  return {
    object: 'policy.files' as const,
    revision: runtime.snapshot.revision,
    files: textsOf(bundle),
    on_disk: disk === null ? 'unreadable' : disk.hash === bundle.hash ? 'same' : 'differs',
    disk_files: disk === null || disk.hash === bundle.hash ? null : textsOf(disk),
    writes: await writableBy(by.caller, desk),
  };
}

const textsOf = ({ files }: Pick<PolicyBundle, 'files'>) =>
  files.map(({ path, text = '' }) => ({ name: basename(path), ...shownText(text) }));

export const REVISIONS_LIMIT = 50;
export const REVISIONS_LIMIT_MAX = 500;

/** A page of revisions, the newest first. */
export interface RevisionPage {
  readonly limit: number;
  /** The entry of the trail that the page before ended with; null for the first page. */
  readonly after: number | null;
}

/** The policies that came into force, as the trail has it, with the time that each was. */
export async function policyRevisions(
  by: Principal,
  { revisionsLike }: Pick<PolicyDesk, 'revisionsLike'>,
  trail: Pick<TrailTable, 'list'>,
  { limit, after }: RevisionPage,
) {
  checkAction(by.caller, 'policy.read');
  // With the one that ended the first of the page.
  const before = after === null ? {} : { before: after + 1 };
  const entries = await trail.list({ keyId: null, kind: 'policy', limit: limit + 2, ...before });
  const own = entries.filter(({ id }) => after === null || id < after).slice(0, limit);
  const endOf = (entry: TrailEntry) => entries[entries.indexOf(entry) - 1] ?? null;
  const data = own.map(async (entry) => {
    const { id, time, subject, details, actor } = entry;
    const end = endOf(entry);
    const isStored = (await revisionsLike(subject.id)).includes(subject.id);
    return {
      ...{ id, revision: subject.id, from: iso(time), until: end && iso(end.time) },
      ...{ cause: typeof details.cause === 'string' ? details.cause : null, actor, is_stored: isStored },
    };
  });
  const last = own.at(-1);
  const hasMore = last !== undefined && entries.some(({ id }) => id < last.id);
  return { object: 'list' as const, data: await Promise.all(data), has_more: hasMore };
}

/** A stored policy, by its revision or the first digits. @throws SignalboxError `not_found` */
export async function policyRevision(by: Principal, desk: PolicyDesk, name: string) {
  checkAction(by.caller, 'policy.read');
  const found = await storedRevision(desk, name);
  return {
    object: 'policy.revision' as const,
    revision: found.revision,
    is_in_force: found.revision === desk.inForce().runtime.snapshot.revision,
    saved: iso(found.saved),
    models: found.models,
    files: revisionBundle(found).files.map(({ path, text = '' }) => ({ name: path, text: shownText(text).text })),
  };
}

/** The JSON Schema of policies, with the names and plugins of that in force. */
export async function servedSchema(by: Principal, desk: PolicyDesk): Promise<object> {
  checkAction(by.caller, 'policy.read');
  return await schemaOf(
    desk.inForce().bundle,
    desk.folder,
    judgeOfSent(desk, () => false),
  );
}
