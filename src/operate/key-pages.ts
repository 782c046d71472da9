import { type KeyState, keyStateOf } from '../access/key-entry.ts';
import { SignalboxError } from '../core/errors.ts';
import type { KeyInfo } from '../store/keys.ts';
import { type KeyAdmin, listKeys } from './keys.ts';
import type { Principal } from './principal.ts';

/** Selects keys; null admits all. */
export interface KeyQuery {
  readonly state: KeyState | null;
  readonly name: string | null;
  /** A part of the name or the ID, in any case. */
  readonly search: string | null;
  /** IDs. */
  readonly team: string | null;
  readonly user: string | null;
  readonly parent: string | null;
  /** Labels that a key must have. */
  readonly labels: Readonly<Record<string, string>>;
  /** The cursor: ID of the last key of the page before. */
  readonly after: string | null;
  /** Null for all. */
  readonly limit: number | null;
}

/** The oldest keys first. */
export interface KeyPage {
  readonly keys: readonly KeyInfo[];
  /** Whether newer keys match, too. */
  readonly hasMore: boolean;
}

/**
 * Returns a page of the keys that a principal may see.
 * @param now ms since 1970
 * @throws SignalboxError `invalid_value` for a cursor that is none of these keys. Rejects with StoreError.
 */
export async function pageOfKeys(
  by: Principal,
  keys: Pick<KeyAdmin, 'list'>,
  query: KeyQuery,
  now: number,
): Promise<KeyPage> {
  const { after, limit } = query;
  const seen = await listKeys(by, keys);
  // The place is looked up before the filters: a key may cease to match between two pages.
  const start = after === null ? 0 : seen.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    throw new SignalboxError('invalid_value', '`after` must be the ID of a key that you may see.', { param: 'after' });
  }
  const found = seen.slice(start).filter((info) => matches(info, query, now));
  const most = limit ?? found.length;
  return { keys: found.slice(0, most), hasMore: found.length > most };
}

function matches(info: KeyInfo, { state, labels, search, ...wanted }: KeyQuery, now: number): boolean {
  const members = (['name', 'team', 'user', 'parent'] as const).filter((member) => wanted[member] !== null);
  return (
    members.every((member) => info[member] === wanted[member]) &&
    (search === null || `${info.name}\n${info.id}`.toLowerCase().includes(search.toLowerCase())) &&
    (state === null || keyStateOf(info.inForce ?? info, now) === state) &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(info.labels, name) && info.labels[name] === value)
  );
}
