import { basename } from 'node:path';
import { iso } from '../../core/clock.ts';
import { policySchema } from '../../policy/json-schema.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import { inBatches } from '../../store/batches.ts';
import type { TrailEntry, TrailTable } from '../../store/trail.ts';
import { pageOf } from '../pages.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { type PolicyDesk, revisionBundle, storedRevision } from './desk.ts';
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
  const revisions = { keyId: null, kind: 'policy' };
  // The entry of the next revision says when a revision ended.
  let end: Pick<TrailEntry, 'time'> | null =
    after === null ? null : ((await trail.list({ ...revisions, before: after + 1, limit: 1 }))[0] ?? null);
  const before = after === null ? {} : { before: after };
  const all = inBatches<TrailEntry>((last, most) =>
    trail.list({ ...revisions, ...before, ...(last && { before: last.id }), limit: most }),
  );
  const page = await pageOf(all, limit, async ({ id, time, subject, details, actor }) => {
    const isStored = (await revisionsLike(subject.id)).includes(subject.id);
    const body = {
      ...{ id, revision: subject.id, from: iso(time), until: end && iso(end.time) },
      ...{ cause: typeof details.cause === 'string' ? details.cause : null, actor, is_stored: isStored },
    };
    end = { time };
    return body;
  });
  return { object: 'list' as const, data: page.data, has_more: page.hasMore };
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

/** The JSON Schema of policies. */
export function servedSchema(by: Principal, { judge }: PolicyDesk): object {
  checkAction(by.caller, 'policy.read');
  return policySchema(judge.shipped);
}
