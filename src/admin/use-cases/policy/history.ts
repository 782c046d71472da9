import { SignalboxError } from '../../../core/errors.ts';
import { inBatches } from '../../../store/batches.ts';
import type { OpenStore } from '../../../store/driver.ts';
import type { PushEntry, PushedPolicy } from '../../../store/pushed-policies.ts';
import type { TrailEntry, TrailTable } from '../../../store/trail.ts';
import { pageOf } from '../pages.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { PolicyDesk } from './desk.ts';
import { followers, type PushTarget } from './push.ts';

export const HISTORY_LIMIT = 50;
export const HISTORY_LIMIT_MAX = 500;

/** The most policy changes in the audit trail that are searched for the authors of pushes. */
const TRAIL_MAX = 2_000;

/** A page of a history, newest first. */
export interface HistoryPage {
  readonly limit?: number | undefined;
  /** The `id` of the last item of the previous page; absent for the first page. */
  readonly after?: number | undefined;
}

/** The pushed revisions in a database, and its servers. Inside a server, `isServed` is absent, because a server is running. */
export interface PushReader extends Partial<Pick<PushTarget, 'isServed'>> {
  readonly store: Pick<OpenStore, 'pushedPolicies' | 'instanceReports' | 'trail'>;
}

/** Lists the pushed revisions, with the author of each push from the audit trail. Rejects with StoreError. */
export async function listPushes(
  by: Principal,
  { store, isServed = async () => true }: PushReader,
  { limit = HISTORY_LIMIT, after }: HistoryPage,
) {
  checkAction(by.caller, 'policy.read');
  const { pushedPolicies, trail } = store;
  const [head, changes, following] = await Promise.all([
    pushedPolicies.head(),
    trail.list({ keyId: null, kind: 'policy_files', limit: TRAIL_MAX }),
    followers(store, isServed),
  ]);
  const authors = new Map(changes.flatMap(authorIn));
  const active = following.length > 0 ? head?.id : null;
  const all = inBatches<PushEntry>((last, most) => pushedPolicies.list(most, last?.id ?? after));
  return await pageOf(all, limit, ({ base, ...one }) => {
    const author = authors.get(one.id) ?? null;
    return { ...one, base: base === 0 ? null : base, author, isInForce: active === one.id };
  });
}

const authorIn = ({ actor, details: { pushed, undone } }: TrailEntry) =>
  typeof pushed === 'number' && undone === undefined ? [[pushed, actor] as const] : [];

/**
 * Finds a pushed revision that was active.
 * @param name the number of the push, or at least the first 6 digits of its revision; the newest match is returned
 * @throws SignalboxError `not_found`
 */
export async function formerPush(
  name: string,
  { pushedPolicies }: Pick<OpenStore, 'pushedPolicies'>,
): Promise<PushedPolicy> {
  const all = await pushedPolicies.list(HISTORY_LIMIT_MAX);
  const isIt = /^\d{1,5}$/.test(name)
    ? ({ id }: PushEntry) => id === Number(name)
    : ({ revision }: PushEntry) => /^[0-9a-f]{6,16}$/.test(name) && revision.startsWith(name);
  const entry = all.find((one) => one.state === 'accepted' && isIt(one));
  const found = entry ? await pushedPolicies.find(entry.id) : null;
  if (found) return found;
  throw new SignalboxError('not_found', 'No pushed revision that was active has this name.');
}

/** Lists the policies that became active, with the period of each, from the audit trail. */
export async function listRevisions(
  by: Principal,
  { revisionsLike }: Pick<PolicyDesk, 'revisionsLike'>,
  trail: Pick<TrailTable, 'list'>,
  { limit = HISTORY_LIMIT, after }: HistoryPage,
) {
  checkAction(by.caller, 'policy.read');
  const revisions = { keyId: null, kind: 'policy' };
  // A revision ended when the next revision became active.
  let until =
    after === undefined ? null : ((await trail.list({ ...revisions, before: after + 1, limit: 1 }))[0]?.time ?? null);
  const all = inBatches<TrailEntry>((last, most) => {
    const before = last?.id ?? after;
    return trail.list({ ...revisions, ...(before !== undefined && { before }), limit: most });
  });
  return await pageOf(all, limit, async ({ id, time, subject: { id: revision }, details: { cause }, actor }) => {
    const isStored = (await revisionsLike(revision)).includes(revision);
    const row = { id, revision, from: time, until, cause: typeof cause === 'string' ? cause : null, actor, isStored };
    until = time;
    return row;
  });
}
