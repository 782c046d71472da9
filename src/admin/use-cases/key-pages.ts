import { type KeyState, keyStateOf } from '../../access/key-entry.ts';
import { refuse } from '../../core/errors.ts';
import { isEmpty } from '../../core/json/object.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { KeyInfo, KeyPageQuery } from '../../store/keys.ts';
import type { KeyAdmin } from './keys.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { isWithin } from './reach.ts';
import { checkAction, type Reach } from './roles.ts';

/** Filters for keys. A null filter accepts all keys. */
export interface KeyQuery {
  readonly state: KeyState | null;
  /** A part of the name or the ID. Upper and lower case are the same. */
  readonly search: string | null;
  /** Members that a key must have. Team, user and parent are given by ID. */
  readonly members: Partial<KeyInfo>;
  /** True selects keys with their own list of models, false selects keys without a list of models. */
  readonly hasModels: boolean | null;
  /** Labels that a key must have. */
  readonly labels: Readonly<Record<string, string>>;
  /** The ID of the last key of the previous page. */
  readonly after: string | null;
  /** The most keys of a page; null for all. */
  readonly limit: number | null;
}

/** Whether the query must examine keys one by one, because no index finds them. */
export function isSearch({ members, search, hasModels, labels }: KeyQuery): boolean {
  const { team: _, user: __, parent: ___, ...others } = members;
  return !isEmpty(others) || hasModels !== null || search !== null || !isEmpty(labels);
}

/**
 * Returns a page of the keys that a principal may see, oldest first.
 * @param now ms since 1970
 * @param bodyOf returns the JSON of a key, whose size limits the page
 * @throws SignalboxError `invalid_value` if the cursor is not one of these keys. Rejects with StoreError.
 */
export async function pageOfKeys<Body>(
  { caller }: Principal,
  keys: Pick<KeyAdmin, 'get' | 'read'>,
  query: KeyQuery,
  now: number,
  bodyOf: (info: KeyInfo) => Body,
): Promise<Page<KeyInfo, Body>> {
  const reach = checkAction(caller, 'keys.read');
  // The search for the cursor's key uses no filters, because the key may have stopped matching the filters since the previous page.
  const after = query.after === null ? null : await keys.get(query.after);
  if (query.after !== null && !(after && isWithin(reach, caller, after))) {
    refuse('after', '`after` must be the ID of a key that you may see.');
  }
  const isUnrevoked = query.state !== null && query.state !== 'revoked';
  const all = keys.read({ after, of: ownerIn(query, reach, caller), isUnrevoked });
  const wanted = those(all, (info) => isWithin(reach, caller, info) && matches(info, query, now));
  return await pageOf(wanted, query.limit ?? Number.POSITIVE_INFINITY, bodyOf);
}

/** The owner whose keys are read; null for all keys. The owner may have more keys than the query wants. */
function ownerIn({ members }: KeyQuery, reach: Reach, caller: Caller): KeyPageQuery['of'] {
  for (const member of ['user', 'parent', 'team'] as const) {
    const id = members[member];
    if (id != null) return { member, id };
  }
  if (reach === 'all') return null;
  // A user's keys belong to the team of the user.
  if (reach === 'team' && caller.team !== undefined) return { member: 'team', id: caller.team };
  return { member: 'user', id: caller.user ?? '' };
}

async function* those<Row>(rows: AsyncIterable<Row>, isWanted: (row: Row) => boolean): AsyncGenerator<Row, void> {
  for await (const row of rows) if (isWanted(row)) yield row;
}

function matches(info: KeyInfo, { state, labels, search, hasModels, members }: KeyQuery, now: number): boolean {
  return (
    Object.entries(members).every(([member, value]) => info[member as keyof KeyInfo] === value) &&
    (search === null || `${info.name}\n${info.id}`.toLowerCase().includes(search.toLowerCase())) &&
    (hasModels === null || (info.models !== null) === hasModels) &&
    (state === null || keyStateOf(info.inForce ?? info, now) === state) &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(info.labels, name) && info.labels[name] === value)
  );
}
