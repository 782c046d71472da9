import { iso } from '../../core/clock.ts';
import { SignalboxError } from '../../core/errors.ts';
import { inBatches } from '../../store/batches.ts';
import type { OpenStore } from '../../store/driver.ts';
import type { PushEntry, PushedPolicy } from '../../store/pushed-policies.ts';
import type { TrailEntry } from '../../store/trail.ts';
import { pageOf } from '../pages.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { followers, type PushTarget } from './push.ts';

type PushReader = Pick<OpenStore, 'pushedPolicies'>;

export const PUSHES_LIMIT = 50;
export const PUSHES_LIMIT_MAX = 500;

/** Changes of the policy in the trail that are looked through for who has pushed. */
const TRAIL_MAX = 2_000;

/** A page of pushes, the newest first. */
export interface PushPage {
  readonly limit: number;
  /** The number of the last push of the page before; null for the first page. */
  readonly after: number | null;
}

/** The revisions that were pushed, with who has pushed each, as the trail has it. Rejects with StoreError. @param isServed whether a server may run */
export async function listPushes(
  by: Principal,
  store: PushReader & Pick<OpenStore, 'instanceReports' | 'trail'>,
  { limit, after }: PushPage,
  isServed: PushTarget['isServed'] = async () => true,
) {
  checkAction(by.caller, 'policy.read');
  const { pushedPolicies, trail } = store;
  const [head, changes, following] = await Promise.all([
    pushedPolicies.head(),
    trail.list({ keyId: null, kind: 'policy_files', limit: TRAIL_MAX }),
    followers(store, isServed),
  ]);
  const authors = new Map(changes.flatMap(authorIn));
  const inForce = following.length > 0 ? head?.id : null;
  const all = inBatches<PushEntry>((last, most) => pushedPolicies.list(most, last?.id ?? after ?? undefined));
  const page = await pageOf(all, limit, (one) => entryBody(one, inForce === one.id, authors.get(one.id) ?? null));
  return { object: 'list' as const, data: page.data, has_more: page.hasMore };
}

const authorIn = ({ actor, details: { pushed, undone } }: TrailEntry) =>
  typeof pushed === 'number' && undone === undefined ? [[pushed, actor] as const] : [];

const entryBody = (
  { id, base, revision, time, state, reason }: PushEntry,
  isInForce: boolean,
  author: TrailEntry['actor'] | null,
) => ({
  ...{ id, revision, base: base === 0 ? null : base, time: iso(time), author, state, reason },
  is_in_force: isInForce,
});

/**
 * Finds a revision that was pushed and in force.
 * @param name its number, or at least 6 of the first digits of its revision: the newest that begins so
 * @throws SignalboxError `not_found`
 */
export async function formerPush(name: string, { pushedPolicies }: PushReader): Promise<PushedPolicy> {
  const all = await pushedPolicies.list(PUSHES_LIMIT_MAX);
  const isIt = /^\d{1,5}$/.test(name)
    ? ({ id }: PushEntry) => id === Number(name)
    : ({ revision }: PushEntry) => /^[0-9a-f]{6,16}$/.test(name) && revision.startsWith(name);
  const entry = all.find((one) => one.state === 'accepted' && isIt(one));
  const found = entry ? await pushedPolicies.find(entry.id) : null;
  if (found) return found;
  throw new SignalboxError('not_found', 'No revision of this name was pushed and in force.');
}
